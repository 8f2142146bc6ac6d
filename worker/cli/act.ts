import { parseChatKey } from '../../shared/redis/keys.ts';
import { type Cancelled, type ChatCancelled, EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { cancelChat, cancelMessage } from '../operator/cancel.ts';
import { pause as pauseAt, resume as resumeAt } from '../operator/pause.ts';
import { type Retried, retryMessage } from '../operator/retry.ts';
import { chatIn, namedMessage } from './look.ts';
import { type Call, withRedis } from './verb.ts';

const CANCELLED: Readonly<Record<Cancelled | ChatCancelled, string>> = {
  cancelled: 'is cancelled: what is running ends within seconds, what is waiting ends in its turn',
  repeated: 'was cancelled already',
  gone: 'has ended; there is nothing to cancel',
  answered: 'is answered: the answer is being delivered, and is not taken back',
  command: 'is a command that cancels others; it is carried out',
  merged: 'was merged into the message before it, and ends with that one: cancel that, or the chat',
  idle: 'has nothing waiting',
};

/** Cancels one message, or all that a chat waits for; the exit code is 1 when there was nothing to cancel. */
export async function cancel(call: Call): Promise<number> {
  const { attribution, terminal, words } = call;
  const [target = ''] = words;
  return withRedis(terminal, async (at) => {
    const chat = parseChatKey(target)?.chat;
    const name = chat === undefined ? await namedMessage(at, target) : undefined;
    const result = name
      ? await cancelMessage(at, name, attribution)
      : await cancelChat(at, chatIn(target), attribution);
    const what = name ? `Message ${name.entry}` : `Chat ${chat}`;
    call.print({ target, result }, () => `${what} ${CANCELLED[result]}.`);
    return result === 'cancelled' || result === 'repeated' ? 0 : 1;
  });
}

/** Tries a message again; the exit code is 1 when there is nothing to try. */
export async function retry(call: Call): Promise<number> {
  return withRedis(call.terminal, async (at) => {
    const name = await namedMessage(at, call.words[0] ?? '');
    const result = await retryMessage(at, name, call.attribution);
    call.print({ entry: name.entry, ...result }, () => `Message ${name.entry} ${retriedWords(result)}.`);
    return ['now', 'replayed', 'under way'].includes(result.kind) ? 0 : 1;
  });
}

function retriedWords(result: Retried): string {
  switch (result.kind) {
    case 'now':
      return 'is being tried now';
    case 'replayed':
      return `is back at the end of its lane as ${result.entry}`;
    case 'under way':
      return result.isPaused ? 'is waiting in a paused chat: resume it first' : 'is under way already';
    case 'ended':
      return `has ended: ${result.outcome}. Nothing is kept of it that could be tried again`;
    case 'gone':
      return 'was put back or removed in the meantime';
    case 'chatless':
      return 'names no chat, so nobody can be answered';
    case 'unknown':
      return 'is not known any more';
  }
}

/** Pauses a chat, or every chat. */
export async function pause(call: Call): Promise<number> {
  const { chat, subject } = pausable(call);
  return withRedis(call.terminal, async (at) => {
    const isNew = await pauseAt(at, chat, call.attribution);
    const words = isNew ? 'is paused: its messages wait' : 'was paused already';
    call.print({ chat, result: isNew ? 'paused' : 'repeated' }, () => `${subject} ${words}.`);
    return 0;
  });
}

/** Ends a pause; the exit code is 1 when there was none. */
export async function resume(call: Call): Promise<number> {
  const { chat, subject } = pausable(call);
  return withRedis(call.terminal, async (at) => {
    const wasPaused = await resumeAt(at, chat, call.attribution);
    const words = wasPaused ? 'goes on within seconds' : 'was not paused; "npm run cli -- status" names what is';
    call.print({ chat, result: wasPaused ? 'resumed' : 'not paused' }, () => `${subject} ${words}.`);
    return wasPaused ? 0 : 1;
  });
}

function pausable({ words: [word] }: Call) {
  if (word === undefined) return { chat: EVERY_CHAT, subject: 'Every chat' } as const;
  return { chat: chatIn(word), subject: `Chat ${chatIn(word)}` } as const;
}
