import type { Change } from '../../shared/state/change.ts';
import type { DeliveryRecord } from '../../shared/state/lane/record-streams.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Room } from '../model/count.ts';
import type { LoadedSession } from '../session/held-window.ts';
import type { Asking } from '../tools/asking.ts';
import type { TurnEvent } from './events.ts';

/** The reason code of a message that waits for Telegram, or that ends because it waited too long for Telegram. */
export const TELEGRAM_AWAY = 'telegram_away';

/** The result of an attempt before the delivery: the message ends, is tried again, or waits for a person. */
export type Verdict =
  | Ending
  /** The message is tried again at once, for example because recovery has changed the request. */
  | { kind: 'again' }
  | Later
  /** The message waits for a person, without a slot or a job. */
  | { kind: 'park'; asking: Asking }
  /** The attempt stops early, e.g. because the process ends or a person cancels the message, and does not count. */
  | { kind: 'hand back'; reason?: string };

/** How a message ends, with the changes and events that are stored together with the conclusion. */
export interface Ending {
  kind: 'conclude';
  conclusion: Conclusion;
  changes: readonly Change[];
  events: readonly TurnEvent[];
  /** Stored instead of `changes` and `events` if the message was cancelled meanwhile. */
  ifCancelled?: { changes: readonly Change[]; events: readonly TurnEvent[] };
  /** Whether the model called no tool for the message in any attempt, so the model changed nothing that could be undone. */
  calledNothing?: boolean;
  /** Whether the answer ended at a limit of length. */
  isCut?: boolean;
  /** Whether the message stays in its conversation although a request with it was refused: something else was the cause. */
  keepsInConversation?: boolean;
  /** Set if the session is nearly full: the session is compacted once the user has the answer. */
  afterReply?: AfterReply;
}

/** A session to compact while no user waits for a reply. */
export interface AfterReply {
  loadedSession: LoadedSession;
  room: Room;
  /** How many tokens the next message may add to the session before a compaction is necessary. */
  leftTokens: number;
}

/** The message is tried again after `delayMs`. */
export interface Later {
  kind: 'later';
  delayMs: number;
  reason: string;
  /** Set if the attempt does not count, because nothing was tried, or because the failure says nothing about this message. */
  isUncounted?: boolean;
  /** Set if the message waits so long that its user gets a notice. */
  isLongWait?: boolean;
}

/** The result of an attempt: its message is settled, tried again, or waits for a person. The processor moves the job. */
export type AttemptResult =
  | {
      kind: 'settle';
      conclusion: Conclusion;
      /** How many parts Telegram confirmed or may have taken; absent if there were no parts, or the delivery failed. */
      delivery?: DeliveryRecord;
      /** Set if the dead letter contains the stored reply, so that a replay delivers the reply without asking the model. */
      keepsAnswer?: true;
    }
  | Exclude<Verdict, Ending>;

/** The circumstances of a delivery. */
export interface DeliveryTime {
  /** Whether this attempt stored the conclusion, so that no part can have been sent before. */
  isNew: boolean;
  /** Whether more steps follow before the message is settled. If not, the last part gets no mark `sent`: settling suffices. */
  isFollowed: boolean;
  /** Aborted when the process ends or has lost the job. Sends that still wait for the rate limit are then not made. */
  stopSignal: AbortSignal;
}

/** The result of a delivery. */
export type Delivery = { kind: 'delivered'; record: DeliveryRecord } | Undelivered;

/** Why a part has not reached its chat, as far as the gateway knows. */
export type Undelivered =
  /** Not now, e.g. because Telegram does not answer or limits the rate. No later attempt repeats the parts already sent. */
  | { kind: 'later'; failure: TelegramFailure }
  /** Never: the chat cannot be reached any longer, or Telegram rejects the message. */
  | { kind: 'undeliverable'; failure: TelegramFailure };

/** The ending with this conclusion, and with these changes and events, if any. */
export function conclude(
  conclusion: Conclusion,
  { changes = [], events = [] }: Partial<Pick<Ending, 'changes' | 'events'>> = {},
): Ending {
  return { kind: 'conclude', conclusion, changes, events };
}

/** Fails a message: the message becomes a dead letter, its user gets `notice`, and the operator gets an alert. */
export function failed(reason: string, notice: string, detail: string): Ending {
  return conclude(
    { outcome: 'failed', reason, parts: [notice] },
    { events: [{ event: 'message.failed', reason, detail }] },
  );
}

/** The conclusion of a cancelled message. Usually without parts, because the reply to the cancelling command is enough. */
export function cancelled(by: string, parts: readonly string[] = []): Conclusion {
  return { outcome: 'cancelled', reason: by, parts };
}

/** The conclusion of a message that gets no answer, but a notice with the reason. */
export function refused(reason: string, notice: string): Conclusion {
  return { outcome: 'refused', reason, parts: [notice] };
}
