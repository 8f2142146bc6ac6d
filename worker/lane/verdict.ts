import type { Change } from '../../shared/state/change.ts';
import type { DeliveryRecord } from '../../shared/state/lane/record-streams.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Room } from '../model/count.ts';
import type { LoadedSession } from '../session/held-window.ts';
import type { Asking } from '../tools/asking.ts';
import type { TurnEvent } from './events.ts';

/** The reason code of a wait, or of an end, because Telegram does not answer. */
export const TELEGRAM_AWAY = 'telegram_away';

/** The result of an attempt, before anything is delivered: the message ends, or goes on in a later attempt. */
export type Verdict =
  | Ending
  /** Back to the head of the queue at once, because recovery has changed the request. */
  | { kind: 'again' }
  | Later
  /** The message waits for a person, without a slot or a job. */
  | { kind: 'park'; asking: Asking }
  /** The attempt was interrupted from outside, and does not count. */
  | { kind: 'hand back'; reason?: string };

/** The end of a message, with the changes and events that the same step stores. */
export interface Ending {
  kind: 'conclude';
  conclusion: Conclusion;
  changes: readonly Change[];
  events: readonly TurnEvent[];
  /** Stored instead of `changes` and `events` if the message was cancelled meanwhile. */
  ifCancelled?: { changes: readonly Change[]; events: readonly TurnEvent[] };
  /** The model called no tool for the message in any attempt, so it cannot have set a reminder. */
  calledNothing?: boolean;
  /** Whether the message stays in its conversation: a refusal named its content, but the cause was another one. */
  keepsInConversation?: boolean;
  /** The session is nearly full: it is compacted once the user has the answer. */
  afterReply?: AfterReply;
}

/** A session to compact while nobody waits. */
export interface AfterReply {
  loadedSession: LoadedSession;
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
  /** The message waits so long that its user gets a notice. */
  isLongWait?: boolean;
}

/** How an attempt ends: the message is settled, or the job waits, parks or runs again. Turns never touch the queue. */
export type AttemptResult =
  | {
      kind: 'settle';
      conclusion: Conclusion;
      /** The counts of parts that Telegram confirmed, or may have taken; absent if nothing was sent. */
      delivery?: DeliveryRecord;
      /** The stored answer goes into the dead letter, so that a replay delivers it without asking the model. */
      keepsAnswer?: true;
    }
  | Exclude<Verdict, Ending>;

/** The circumstances of a delivery. */
export interface DeliveryTime {
  /** This attempt stored the conclusion, so no part was sent before. */
  isNew: boolean;
  /** More steps follow before the message is settled, so the last part needs a mark. Otherwise settling replaces it. */
  isFollowed: boolean;
  /** Aborted when the process ends or has lost the job. Sends that still wait for their time are then not made. */
  stopSignal: AbortSignal;
}

/** The result of a delivery. */
export type Delivery = { kind: 'delivered'; record: DeliveryRecord } | Undelivered;

/** A part that has not reached its chat, as far as the gateway knows. */
export type Undelivered =
  /** Not now: Telegram is away or asks to wait. The parts that were sent stay marked. */
  | { kind: 'later'; failure: TelegramFailure }
  /** Never: Telegram says that the chat is gone, or refuses the text. */
  | { kind: 'undeliverable'; failure: TelegramFailure };

/** The end of a message with this conclusion; by default with no other changes or events. */
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

/** The conclusion of a cancelled message. The reply to a cancelling command notifies the user. */
export function cancelled(by: string, parts: readonly string[] = []): Conclusion {
  return { outcome: 'cancelled', reason: by, parts };
}

/** The conclusion of a message that is not answered, with a notice that gives the user the reason. */
export function refused(reason: string, notice: string): Conclusion {
  return { outcome: 'refused', reason, parts: [notice] };
}
