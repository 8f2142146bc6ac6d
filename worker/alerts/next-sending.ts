import { hash } from 'node:crypto';
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

/** The progress of an incident in a channel: 0 not received yet, 1 open, 2 open with severity `page`, 3 ended. */
export type Stage = 0 | 1 | 2 | 3;

/** The delivery state of one opening of an incident. Each reopening has a delivery state of its own. */
export interface Delivered {
  opening: string;
  /** The newest stage that the chat has received; without an alert chat, the webhook; without both, the log. */
  stage: Stage;
  /** The newest stage that the webhook has received. Without a webhook, each stage counts as received. */
  copied: Stage;
  /** Digest of the message in the chat; see `digestOf`. */
  digest: string;
  /** How many of the incident's occurrences the chat has received. */
  lines: number;
  /** Time of the last send or edit in the chat, in ms since the epoch by Redis' clock; 0 before the first. */
  sentMs: number;
  /** The chat, and the id of the incident's message there; both are absent before the first send. */
  chatId?: number;
  messageId?: number;
}

/** A message, an edit or a reply that brings the alert chat up to date with one incident. */
export interface Sending {
  incident: Incident;
  /** The delivery state after a successful send. */
  after: Delivered;
  /** The message about the incident, to be sent or edited; absent if only a reply is sent. */
  message?: AlertMessage;
  /** A reply to the incident's message. */
  reply?: string;
  /** Whether operators get no notification: a message or lone reply is sent silently, and an edit gets no reply. */
  isSilent: boolean;
}

/** Limits on the rate of sends to the alert chat. Times are ms since the epoch by Redis' clock. */
export interface Pace {
  nowMs: number;
  /** The times of the newest sends to the chat. */
  sentMs: readonly number[];
  /** How long an incident that may be a consequence waits before its first send, so that its cause can open first. */
  settleMs: number;
  /** The shortest time between two edits of one message; default: `EDIT_EVERY_MS`. */
  editEveryMs?: number | undefined;
}

/** Half of the 20 calls a minute that Telegram allows in a group, because an edit with its reply is two calls. */
export const SENDS_PER_MINUTE = 10;
/** Lower than `SENDS_PER_MINUTE`, so that silent steps leave room for steps that notify the operators. */
const SILENT_PER_MINUTE = 8;
const MINUTE_MS = 60_000;
/** The shortest time between two edits of one message, so that a flood of changes leaves room for other incidents. */
export const EDIT_EVERY_MS = 10_000;

/** The stage of an incident. Pure. */
export function stageOf(incident: Incident): Stage {
  if (!incident.isOpen) return 3;
  return rowAt(incident).severity === 'page' ? 2 : 1;
}

/** The delivery state of an incident's present opening; the initial state if none is stored for this opening. Pure. */
export function deliveredOf(incident: Incident, delivered: ReadonlyMap<string, Delivered>): Delivered {
  const opening = openingOf(incident);
  const previous = delivered.get(incidentOf(incident));
  return previous?.opening === opening ? previous : { opening, stage: 0, copied: 0, digest: '', lines: 0, sentMs: 0 };
}

/**
 * Whether an incident gets a message of its own now. A consequence gets none, because the message about its cause mentions
 * it. An open incident that may still turn out to be a consequence waits for `settleMs`. Pure.
 */
export function isDue(incident: Incident, { nowMs, settleMs }: Pick<Pace, 'nowMs' | 'settleMs'>): boolean {
  if (incident.under !== undefined) return false;
  const canHaveCause = incident.isOpen && rowAt(incident).follows !== undefined;
  return !canHaveCause || nowMs - (incident.enteredMs ?? incident.openedMs) >= settleMs;
}

/** Whether each channel has an incident's newest stage, or mentions the incident only in the message about its cause. Pure. */
export function isUpToDate(incident: Incident, { delivered }: { delivered: ReadonlyMap<string, Delivered> }): boolean {
  const { stage, copied } = deliveredOf(incident, delivered);
  // A consequence that never had a message of its own counts as up to date: the message about its cause mentions it.
  const isLine = (each: Stage) => incident.under !== undefined && each === 0;
  return [stage, copied].every((each) => isLine(each) || each >= stageOf(incident));
}

/**
 * The next step that brings the chat up to date. Steps that notify come first: pages, then all others, in both groups ordered
 * by the beginning of the incident. Then come silent steps, starting with the message that was sent or edited longest ago.
 * `undefined` if there is nothing to send now, or if the rate limit is reached. Pure.
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

/** The sort key of a step, for the order that `nextSending` describes. */
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

/** Whether the message may be edited again. The absolute difference counts: after a clock step, `sentMs` may be ahead. */
function isEditable({ sentMs }: Delivered, { nowMs, editEveryMs = EDIT_EVERY_MS }: Pace): boolean {
  return Math.abs(nowMs - sentMs) >= editEveryMs;
}

/** A digest of the fields whose changes justify an edit. Omits alert texts, because their durations change at each check. */
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
  return hash('sha256', JSON.stringify(fields), 'base64url').slice(0, 16);
}
