import type { Replayed } from '../../shared/state/lane/dead-letters.ts';
import type { Cancelled, ChatCancelled } from '../../shared/state/lane/stops.ts';
import type { Retried } from './retry.ts';

/** What became of a cancellation, behind the name of the message or the chat. */
export const CANCELLED: Readonly<Record<Cancelled | ChatCancelled, string>> = {
  cancelled: 'is cancelled: what is running ends within seconds, what is waiting ends in its turn',
  repeated: 'was cancelled already',
  gone: 'has ended; there is nothing to cancel',
  answered: 'is answered: the answer is being delivered, and is not taken back',
  command: 'is a command that cancels others; it is carried out',
  merged: 'was merged into the message before it, and ends with that one: cancel that, or the chat',
  idle: 'has nothing waiting',
};

/** What became of another try, behind the name of the message; `resting`: under way in a paused chat. */
export const RETRIED: Readonly<Record<Retried['kind'] | 'resting', string>> = {
  now: 'is being tried now',
  replayed: 'is back at the end of its lane',
  'under way': 'is under way already',
  resting: 'is waiting in a paused chat: resume it first',
  ended: 'has ended. Nothing is kept of it that could be tried again',
  gone: 'was put back or removed in the meantime',
  chatless: 'names no chat, so nobody can be answered',
  unknown: 'is not known any more',
};

/** What became of a dead letter that was to be put back, behind its name. */
export const REPLAYED: Readonly<Record<Replayed[0], string>> = {
  replayed: 'is back at the end of its lane',
  unfinished: 'stays: a piece of it is still being put aside. Try again in a moment',
  gone: 'was put back or removed in the meantime',
  chatless: 'names no chat, so nobody can be answered: it stays',
};

/** What became of a pause or its end, behind the name of the chat. */
export const PAUSED = { paused: 'is paused: its messages wait', repeated: 'was paused already' } as const;
export const RESUMED = { resumed: 'goes on within seconds', repeated: 'was not paused' } as const;
