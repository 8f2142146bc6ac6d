import { traceIdOf } from '../../shared/base/telemetry.ts';
import type { Decoded, InboundMessage, Outcome } from '../../shared/flow/message.ts';
import type { ChatKey, EntryId, Keys, LaneKey, SessionId } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import type { Change } from '../../shared/state/change.ts';
import type { Choice, ToolGrant } from '../../shared/state/chat/chat.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import type { Payer } from '../model/port.ts';
import type { Part } from '../reply/format/layout.ts';
import type { FilePart } from '../reply/part.ts';
import type { ChatSettings } from './chat-settings.ts';
import type { Slot } from './slots.ts';

/** How far the recovery of this message has gone. Moves forward only, and is stored with its effect. */
export type RecoveryStage = (typeof RECOVERY_STAGES)[number];
export const RECOVERY_STAGES = ['none', 'compacted', 'fresh'] as const;

/** The end of a message as its user will see it, stored before the first part is sent. */
export interface Conclusion {
  outcome: Outcome;
  /** A short code for the ledger; absent for a plain answer. */
  reason?: string;
  /** The message into which this one was merged, as a fragment of it, or whose reply reports on it. */
  into?: EntryId;
  /** The messages that are sent, in order, as plain texts. */
  parts: readonly string[];
  /** How each part is shown; `null` for a plain text. Absent where all are, and before version 0.3. */
  layout?: readonly (Part | FilePart | null)[];
  /** Rows of buttons under the last part that is no file. */
  buttons?: readonly (readonly Button[])[];
  /** The message whose button was pressed keeps its buttons. */
  keepsButtons?: true;
}

/** A fresh session that a message is tried in: its chat moves there only once the message is answered. */
export interface Trial {
  /** The previous session. */
  of: SessionId;
  /** The fresh one. */
  in: SessionId;
  /** Its entries. */
  entries: number;
  /** The notice to the user if the fresh session yields an answer. */
  notice: string;
  /** The reason of the failure that led here. */
  why: string;
}

/** Who cancelled a message that an operator cancelled alone: then no reply of a command notifies the user. */
export const BY_OPERATOR = 'operator';

/**
 * State of a part of a reply: `sending` means that an attempt was about to send it. `resent` is of version 0.3.
 * `sent`: Telegram has confirmed it. `unsure`: it was repeated, marked, and Telegram did not say whether it took that.
 */
export type PartMark = 'sending' | 'resent' | 'sent' | 'unsure';

/**
 * A place of a reply: a part by its index, or its repeat after an unknown result. That without an index is the first part's.
 */
export type PartPlace = number | 'text' | `${number}:text`;

/** The result of a fenced write; see `write.lua`. */
export type Written = 'written' | 'repeated' | 'fenced' | 'unmet';

/** Where an attempt is in the row of its writes, as `fence.lua` reads it: `<last known to have taken effect> <last sent>`. */
export type WritePlace = `${number} ${number}`;

/** A field of a hash that must have this value when something is written, or none where that is empty. */
export type Expected = readonly [key: string, field: string, value: string];

/** Thrown when another attempt took the turn over, or must: this attempt has to stop without further effects. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
  constructor() {
    super('another worker took this message over, or Redis has lost what this one wrote');
  }
}

/**
 * One attempt at a message, and its proof of ownership. All its writes go through `write`, which checks the fencing
 * token: an attempt that was frozen and resumes can change nothing. Its writes are numbered, so an attempt that
 * outlives the loss of some of them in Redis can change nothing either; the next attempt continues from what is left.
 */
export interface Attempt {
  readonly entry: EntryId;
  /** The queue that it heads. */
  readonly lane: LaneKey;
  readonly chat: ChatKey;
  /** The chat that owns the session: differs from `chat` only where a group became a supergroup. */
  readonly home: ChatKey;
  /** The keys of the shard; the key of `chat` is that of `home`. */
  readonly keys: Keys;
  /** Unique to this attempt, even where Redis has forgotten another one. */
  readonly fencingToken: string;
  /** 1 for the first; restarts at 1 after each recovery step. */
  readonly attempts: number;
  readonly recoveries: number;
  /** Recoveries before the last tool round: a call that succeeded in between restarts the bound. */
  readonly recoveriesBefore: number;
  readonly stage: RecoveryStage;
  /** Tool rounds recorded for this message, in any session. */
  readonly rounds: number;
  readonly message: Decoded<InboundMessage>;
  /** The entry of an earlier try of the message, which failed: then it was put back. */
  readonly replayOf: EntryId | undefined;
  /** Whether nothing waited behind the message when the attempt began. */
  readonly isAloneAtBegin: boolean;
  /** Since when the bot is blocked by the chat or removed from it, in ms since the epoch; 0: it is there. */
  readonly goneMs: number;
  readonly traceparent: string;
  readonly session: SessionId;
  /** What is remembered about the chat, as its session carries it; absent until that is fixed for the session. */
  readonly memory: string | undefined;
  /**
   * The window learnt from a provider's errors in this session, if any: whose it is, and until when it holds.
   */
  readonly limit: { readonly tokens: number; readonly untilMs: number; readonly of: string } | undefined;
  /** The factor for our estimates of this chat, learnt from real usage; absent before the first answer. */
  readonly calibration: number | undefined;
  /** Messages of this session that a summary stands for since its last answer; the answer says so. */
  readonly unreportedCompactions: number;
  /** Compactions of this session in a row that came to nothing, or after which what was kept was still too much. */
  readonly vainCompactions: number;
  /** The finished part of a summary of this session, as JSON. */
  readonly summaryPart: string | undefined;
  /** Messages of this session that the model declined since it last answered one. */
  readonly refusalsInRow: number;
  /** How many of its calls fell silent since the last answer or recovery. */
  readonly silences: number;
  /** When the attempt before this one began, in ms since the epoch, if it wrote no verdict: its process was killed, or lost Redis. */
  readonly cutFromMs: number | undefined;
  /** Whether this message or its conversation was refused because of its content: it may be at fault. */
  readonly isBlamed: boolean;
  /** Set while this session is on trial. */
  readonly trial: Trial | undefined;
  /** Lowered when input and output together did not fit, raised when thinking took all of it. */
  readonly maxOutputTokens: number | undefined;
  readonly conclusion: Conclusion | undefined;
  /** Lines to show the user before the answer, e.g. that a fresh session was started. */
  readonly notices: readonly string[];
  /** Lines that say how much of this message was read: they belong to its answer, and to nothing else. */
  readonly readingNotices: readonly string[];
  /** The texts of the chat's language: chosen with a command, or else the operator's choice, or the sender's app's. */
  readonly texts: Texts;
  /** What the operator has set for this chat. */
  readonly chatSettings: ChatSettings;
  /** The chat's choice by a command, by its field. */
  choice(name: Choice): string | undefined;
  /** The tools that the chat may use without asking. */
  readonly toolGrants: readonly ToolGrant[];
  /** When something may be sent to the chat again, by Telegram's own word, in ms since the epoch; 0 is now. */
  readonly quietUntilMs: number;
  /** The messages of the chat whose answers are put back when the chat takes another one, oldest first. */
  readonly refusedAnswers: readonly EntryId[];
  /** The state of one place of the reply. */
  part(at: PartPlace): PartMark | undefined;
  /** How long this attempt has run, by the monotonic clock. */
  elapsedMs(): number;
  /** The time of Redis, in ms since the epoch: the clock behind entry ids. */
  nowMs(): number;
  /** The findings and deeds of earlier attempts, and the verbs that change them. */
  readonly turn: Turn;
  /**
   * Applies commands atomically, once per step, also when it is sent again. An empty step may be done by another attempt, too.
   * Contract: throws `FencedError` when the turn was taken over; `unmet` only when something was expected that is not so.
   */
  write(step: string, commands: readonly Change[], expected?: readonly Expected[]): Promise<Exclude<Written, 'fenced'>>;
  /** Checks ownership just before an effect outside Redis. Contract: throws `FencedError`. */
  assertOwned(): Promise<void>;
  /** Makes a write with its own script, after all earlier writes. `send` must pass on the place that it gets. */
  asWrite<T>(send: (place: WritePlace) => Promise<T>): Promise<T>;
  /** Runs a query with its own script, after all earlier writes. `send` must pass on the place that it gets. */
  afterWrites<T>(send: (place: WritePlace) => Promise<T>): Promise<T>;
}

/** The time that an attempt has. */
export interface TurnTime {
  /** Aborted when the attempt must stop. */
  readonly signal: AbortSignal;
  /** Runs a recovery under its own deadline. The turn's clock stops meanwhile, since the turn ends with the recovery. */
  recovering<T>(leftMs: number, work: (signal: AbortSignal, deadline: AbortSignal) => Promise<T>): Promise<T>;
  /** Notes that something arrived or ended: the attempt is not silent. */
  progress(): void;
  /** Whether the attempt was stopped because nothing arrived for too long. */
  isSilent(): boolean;
  /** Notes that the chat is about to see something of the answer: from then on nothing joins its message. */
  see(): void;
  isSeen(): boolean;
  /** Set once the message is answered: whether what is still done for it yields to a message that waits. */
  yieldsTo?: (message: InboundMessage) => boolean;
  /** Its place among the turns that run: given back before it delivers. */
  readonly slot: Slot;
  /** Aborted when the process ends, or has lost the job: what waits to be sent is not sent here any more. */
  readonly leaving: AbortSignal;
}

/** For whom the calls of an attempt are made. */
export function payerOf(
  attempt: Pick<Attempt, 'chat' | 'home' | 'entry' | 'traceparent' | 'message' | 'chatSettings'>,
): Payer {
  const { chat, home, entry, traceparent, message, chatSettings: own } = attempt;
  const about = { chat, home, entry, traceId: traceIdOf(traceparent), own };
  if (!message.ok) return about;
  const { from, chatType } = message.value;
  const inGroup = chatType === 'private' ? {} : { groupName: from.name ?? '' };
  return { ...about, person: from.id, isGuest: isOfGuest(attempt), ...inGroup };
}

/** How the bot was called in a chat that it is not part of; undefined for what was said in a chat of its own. */
export function summonsOf({ message }: Pick<Attempt, 'message'>): InboundMessage['summons'] {
  return message.ok ? message.value.summons : undefined;
}

/** Whether somebody wrote the message who is only admitted as a member of a group, or where the bot is not part of it. */
export function isOfGuest({ message }: Pick<Attempt, 'message'>): boolean {
  return message.ok && message.value.from.isGuest === true;
}

/** The session of a message that ended so: on trial, its chat goes to the fresh session only with an answer. */
export function sessionAfter(
  { session, trial }: Pick<Attempt, 'session' | 'trial'>,
  { outcome }: Conclusion,
): SessionId {
  return outcome === 'answered' ? session : (trial?.of ?? session);
}

/** How long a message's turn has run, in all its attempts but for their recoveries. */
export function spentMs({ turn, elapsedMs }: Pick<Attempt, 'turn' | 'elapsedMs'>): number {
  return turn.spentMs + elapsedMs();
}

/**
 * How long an attempt's message has waited: its entry id is the time of its acceptance. Never below 0: a clock that was
 * learnt from a slow reply may be behind by half of that reply's time.
 */
export function ageMs({ entry, nowMs }: Pick<Attempt, 'entry' | 'nowMs'>): number {
  return Math.max(0, nowMs() - msOf(entry));
}
