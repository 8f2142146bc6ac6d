import type { Change } from '../../shared/state/change.ts';
import type { DeliveryRecord } from '../../shared/state/lane/record-streams.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Room } from '../model/count.ts';
import type { OpenedSession } from '../session/held-window.ts';
import type { Asking } from '../tools/asking.ts';
import type { TurnEvent } from './events.ts';

/** The reason code of a wait, or of an end, because Telegram does not answer. */
export const TELEGRAM_AWAY = 'telegram_away';

/** The result of an attempt, before anything is delivered: the message ends, or goes on in a later attempt. */
export type Verdict =
  | Ending
  /** Back to the head of the queue at once: recovery has changed what is sent. */
  | { kind: 'again' }
  | Later
  /** The message waits for a person, without a slot or a job. */
  | { kind: 'park'; asking: Asking }
  /** Interrupted from outside: handed back without using an attempt. */
  | { kind: 'hand back'; reason?: string };

/** How a message ends, with what is stored in the same step. */
export interface Ending {
  kind: 'conclude';
  conclusion: Conclusion;
  changes: readonly Change[];
  /** The events that are reported with it. */
  events: readonly TurnEvent[];
  /** Stored in place of all that if the message was cancelled meanwhile. */
  ifCancelled?: { changes: readonly Change[]; events: readonly TurnEvent[] };
  /** The model called no tool for the message in any attempt: it cannot have set anything for later. */
  calledNothing?: boolean;
  /** The message stays in its conversation: a refusal named its content, but something else was the cause. */
  keepsInConversation?: boolean;
  /** The session is nearly full: it is compacted once the user has the answer. */
  afterReply?: AfterReply;
}

/** A session to compact while nobody waits. */
export interface AfterReply {
  opened: OpenedSession;
  room: Room;
  /** How many tokens the next request may add to the session and still fit. */
  leftTokens: number;
}

/** The message is tried again. */
export interface Later {
  kind: 'later';
  delayMs: number;
  reason: string;
  /** The attempt does not count: nothing was tried, or the failure says nothing about this message. */
  isUncounted?: boolean;
  /** The message waits so long that its user is to be notified. */
  isLongWait?: boolean;
}

/** How an attempt ends: the message is settled, or the job waits, parks or runs again. Turns never touch the queue. */
export type AttemptResult =
  | {
      kind: 'settle';
      conclusion: Conclusion;
      /** The counts of parts that Telegram confirmed, or may have taken; absent if nothing was sent. */
      delivery?: DeliveryRecord;
      /** The stored answer goes into the dead letter: it can be delivered without asking the model again. */
      keepsAnswer?: true;
    }
  | Exclude<Verdict, Ending>;

/** When a conclusion is delivered. */
export interface DeliveryTime {
  /** This very attempt stored the conclusion, so nothing of it was sent yet. */
  isNew: boolean;
  /** More is sent before the message is settled, so that the last part needs a mark too. Otherwise settling stands for it. */
  isFollowed: boolean;
  /** Aborted when the process ends, or has lost the job: a call that still waits for its turn is not made. */
  leaving: AbortSignal;
}

/** The result of a delivery. */
export type Delivery = { kind: 'delivered'; record: DeliveryRecord } | Undelivered;

/** A part that does not stand in its chat, as far as is known. */
export type Undelivered =
  /** Not now: Telegram is away or asks to wait. What was sent stays marked. */
  | { kind: 'later'; failure: TelegramFailure }
  /** Never, in Telegram's own word: the chat is gone or it refuses the text. */
  | { kind: 'undeliverable'; failure: TelegramFailure };

/** A message that ends with a conclusion, and nothing else to store. */
export function conclude(
  conclusion: Conclusion,
  { changes = [], events = [] }: Partial<Pick<Ending, 'changes' | 'events'>> = {},
): Ending {
  return { kind: 'conclude', conclusion, changes, events };
}

/** The end of a message that failed: kept as a dead letter, with a notice to its user and an alert to the operator. */
export function failed(reason: string, notice: string, detail: string): Ending {
  return conclude(
    { outcome: 'failed', reason, parts: [notice] },
    { events: [{ event: 'message.failed', reason, detail }] },
  );
}

/** How a message ends that was cancelled; where a later command did, that command's reply notifies the user. */
export function cancelled(by: string, parts: readonly string[] = []): Conclusion {
  return { outcome: 'cancelled', reason: by, parts };
}

/** How a message ends that is not answered, with a notice that gives the user the reason. */
export function refused(reason: string, notice: string): Conclusion {
  return { outcome: 'refused', reason, parts: [notice] };
}
