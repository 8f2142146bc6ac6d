import { createHash } from 'node:crypto';
import type { Book } from './book.ts';
import { rowAt } from './causes.ts';
import { type Incident, incidentOf, openingOf } from './incident.ts';
import {
  type AlertMessage,
  linesThatFit,
  messageOf,
  type Surroundings,
  shortTextOf,
  visibleOccurrences,
} from './message.ts';

/** The progress of an incident: 1 open, 2 open with severity `page`, 3 ended. 0 stands for a channel without the incident. */
export type Stage = 0 | 1 | 2 | 3;

/** The delivery state of one opening of an incident. */
export interface Delivered {
  opening: string;
  /** The newest stage in the chat. Without an alert chat: on the webhook; without both: in the log. */
  stage: Stage;
  /** The newest stage on the webhook. */
  copied: Stage;
  /** Digest of the message in the chat; see `digestOf`. */
  digest: string;
  /** How many occurrences the chat has. */
  lines: number;
  /** Time of the last send or edit, in ms since the epoch by Redis' clock. */
  sentMs: number;
  /** Position of the message in the chat; absent before the first send. */
  chatId?: number;
  messageId?: number;
}

/** One step that brings the chat up to date. */
export interface Sending {
  incident: Incident;
  /** The delivery state after a successful send. */
  after: Delivered;
  /** The whole message, new or as an edit; absent if only a reply is sent. */
  message?: AlertMessage;
  /** A reply to the message. */
  reply?: string;
  /** Whether to send with `disable_notification`, and without the reply. */
  isSilent: boolean;
}

/** Limits on the rate of sends. Times are ms since the epoch by Redis' clock. */
export interface Pace {
  nowMs: number;
  /** Times of the latest sends. */
  sentMs: readonly number[];
  /** How long a possible consequence waits before its first send, so that its cause can open first. */
  settleMs: number;
  /** The least time between two edits of a message; default `EDIT_EVERY_MS`. */
  editEveryMs?: number | undefined;
}

/** Telegram allows 20 calls a minute in a group, and an edit with its reply is two. */
export const SENDS_PER_MINUTE = 10;
/** Lower than `SENDS_PER_MINUTE`, so that silent steps leave room for those that notify. */
const SILENT_PER_MINUTE = 8;
const MINUTE_MS = 60_000;
/** The least time between two edits of a message, so that a flood of changes leaves room for other incidents. */
export const EDIT_EVERY_MS = 10_000;

/** The stage of an incident. Pure. */
export function stageOf(incident: Incident): Stage {
  if (!incident.isOpen) return 3;
  return rowAt(incident).severity === 'page' ? 2 : 1;
}

/** The delivery state of an incident's present opening. Pure. */
export function deliveredOf(incident: Incident, delivered: ReadonlyMap<string, Delivered>): Delivered {
  const opening = openingOf(incident);
  const previous = delivered.get(incidentOf(incident));
  return previous?.opening === opening ? previous : { opening, stage: 0, copied: 0, digest: '', lines: 0, sentMs: 0 };
}

/** Whether an incident gets its own message: not as a line under its cause, and not before `settleMs` has passed. Pure. */
export function isDue(incident: Incident, { nowMs, settleMs }: Pick<Pace, 'nowMs' | 'settleMs'>): boolean {
  if (incident.under !== undefined) return false;
  const canHaveCause = incident.isOpen && rowAt(incident).follows !== undefined;
  return !canHaveCause || nowMs - (incident.enteredMs ?? incident.openedMs) >= settleMs;
}

/** Whether every channel has the newest stage of an incident, or shows the incident as a line under its cause. Pure. */
export function isUpToDate(incident: Incident, { delivered }: { delivered: ReadonlyMap<string, Delivered> }): boolean {
  const { stage, copied } = deliveredOf(incident, delivered);
  // A channel at stage 0 shows the incident as a line under its cause.
  const isLine = (each: Stage) => incident.under !== undefined && each === 0;
  return [stage, copied].every((each) => isLine(each) || each >= stageOf(incident));
}

/**
 * The next step that brings the chat up to date. Steps that notify come first, the gravest and oldest of them before
 * others; then the message with the oldest send. `undefined` if the chat is up to date or the rate is used up. Pure.
 */
export function nextSending(
  book: Book,
  delivered: ReadonlyMap<string, Delivered>,
  pace: Pace,
  around: Surroundings,
): Sending | undefined {
  const sendsLately = pace.sentMs.filter((atMs) => pace.nowMs - atMs < MINUTE_MS).length;
  if (sendsLately >= SENDS_PER_MINUTE) return undefined;
  const all = [...book.values()].flatMap(
    (incident) => sendingOf(incident, deliveredOf(incident, delivered), book, pace, around) ?? [],
  );
  const nameOf = ({ incident }: Sending) => incidentOf(incident);
  const [first] = all.sort((one, other) => orderOf(one) - orderOf(other) || nameOf(one).localeCompare(nameOf(other)));
  return first?.isSilent && sendsLately >= SILENT_PER_MINUTE ? undefined : first;
}

/** The sort key of a step: pages first, then other steps that notify, then silent ones, each the oldest first. */
function orderOf({ incident, isSilent, after }: Sending): number {
  if (isSilent) return after.sentMs;
  return incident.openedMs - (after.stage === 2 ? 2 : 1) * Number.MAX_SAFE_INTEGER;
}

function sendingOf(
  incident: Incident,
  before: Delivered,
  book: Book,
  pace: Pace,
  around: Surroundings,
): Sending | undefined {
  const stage = stageOf(incident);
  const hasMessage = before.messageId !== undefined;
  if (!hasMessage && (stage <= before.stage || !isDue(incident, pace))) return undefined;
  const isSilent = rowAt(incident).severity === 'info' || incident.under !== undefined || stage <= before.stage;
  const digest = digestOf(incident, book);
  const lines = Math.max(before.lines, visibleOccurrences(incident).length);
  const after: Delivered = { ...before, stage: Math.max(stage, before.stage) as Stage, digest, lines };
  const message = messageOf(incident, around, book);
  if (!hasMessage) return { incident, after, message, isSilent };
  if (stage > before.stage) return { incident, after, message, reply: shortTextOf(incident), isSilent };
  if (digest !== before.digest && isEditable(before, pace)) return { incident, after, message, isSilent: true };
  const unsentLines = linesThatFit(incident.occurrences.slice(before.lines));
  if (unsentLines.length === 0 || digest !== before.digest) return undefined;
  return {
    incident,
    after: { ...before, lines: before.lines + unsentLines.length },
    reply: unsentLines.join('\n'),
    isSilent: true,
  };
}

/** Whether the message may be edited again. Absolute difference, since the last send lies in the future after a clock step. */
function isEditable({ sentMs }: Delivered, { nowMs, editEveryMs = EDIT_EVERY_MS }: Pace): boolean {
  return Math.abs(nowMs - sentMs) >= editEveryMs;
}

/** Digest of the fields that justify an edit, without texts: they contain ages, so each check would cause an edit. */
function digestOf(incident: Incident, book: Book): string {
  const { isOpen, level, messages, chats, letters, acts, under, occurrences, occurrencesMore, parts, waiting } =
    incident;
  const name = incidentOf(incident);
  const below = [...book.values()].filter((each) => isOpen && each.isOpen && each.under === name);
  const fields = [
    isOpen,
    level,
    messages,
    chats,
    letters,
    acts,
    under,
    occurrences.length,
    occurrencesMore,
    parts?.length,
    waiting,
    below.map((each) => [incidentOf(each), each.messages, each.chats]),
  ];
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url').slice(0, 16);
}
