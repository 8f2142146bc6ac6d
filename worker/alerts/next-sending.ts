import { createHash } from 'node:crypto';
import type { Book } from './book.ts';
import { rowAt } from './causes.ts';
import { type Incident, incidentOf, openingOf } from './incident.ts';
import { type AlertMessage, fitting, messageOf, ringOf, type Surroundings, shownOccurrences } from './message.ts';

/** How far an incident has come: 1 open, 2 open and a page, 3 ended. A channel that has nothing of it is at 0. */
export type Stage = 0 | 1 | 2 | 3;

/** How far the channels have one opening of an incident. */
export interface Delivered {
  opening: string;
  /** The stage that the chat has; without a chat the webhook's, and without either the logged one. */
  stage: Stage;
  /** The stage that the webhook has. */
  copied: Stage;
  /** What the message in the chat says, in short. */
  digest: string;
  /** How many occurrences stand in the chat. */
  lines: number;
  /** When the message was sent or edited last, in ms since the epoch by Redis' clock. */
  sentMs: number;
  /** The message in the chat; absent where none was sent. */
  chatId?: number;
  messageId?: number;
}

/** One step that brings the chat up to date. */
export interface Sending {
  incident: Incident;
  /** What the channels have of the incident once it is sent. */
  after: Delivered;
  /** The whole message, which is sent or replaces the one in the chat; absent where there is only a reply. */
  message?: AlertMessage;
  /** A reply to the message. */
  reply?: string;
  /** Sent with `disable_notification`, and without the reply that rings. */
  isSilent: boolean;
}

/** What the pace of sending depends on. Times are ms since the epoch by Redis' clock. */
export interface Pace {
  nowMs: number;
  /** When messages were sent lately. */
  sentMs: readonly number[];
  /** How long an incident that may follow from another one is held back, so that its cause can open first. */
  settleMs: number;
  /** The least time between two edits of a message; default `EDIT_EVERY_MS`. */
  editEveryMs?: number | undefined;
}

/** Telegram takes 20 calls a minute in a group, and an edit with its reply is two. */
export const SENDS_PER_MINUTE = 10;
/** Steps that ring nobody leave room for those that do. */
const SILENT_PER_MINUTE = 8;
const MINUTE_MS = 60_000;
/** A message is edited this often at most, so that a flood of changes leaves room for other incidents. */
export const EDIT_EVERY_MS = 10_000;

/** How far an incident has come. Pure. */
export function stageOf(incident: Incident): Stage {
  if (!incident.isOpen) return 3;
  return rowAt(incident).severity === 'page' ? 2 : 1;
}

/** What the channels have of this opening of an incident. Pure. */
export function deliveredOf(incident: Incident, delivered: ReadonlyMap<string, Delivered>): Delivered {
  const opening = openingOf(incident);
  const known = delivered.get(incidentOf(incident));
  return known?.opening === opening ? known : { opening, stage: 0, copied: 0, digest: '', lines: 0, sentMs: 0 };
}

/** Whether an incident gets a message of its own: not while it is a line under its cause, nor before it has settled. Pure. */
export function isDue(incident: Incident, { nowMs, settleMs }: Pick<Pace, 'nowMs' | 'settleMs'>): boolean {
  if (incident.under !== undefined) return false;
  const maySettle = incident.isOpen && rowAt(incident).follows !== undefined;
  return !maySettle || nowMs - (incident.enteredMs ?? incident.openedMs) >= settleMs;
}

/** Whether every channel has the newest stage of an incident, or a line under its cause stands for it. Pure. */
export function isUpToDate(incident: Incident, { delivered }: { delivered: ReadonlyMap<string, Delivered> }): boolean {
  const { stage, copied } = deliveredOf(incident, delivered);
  // A channel that never had it has the line under its cause.
  const isLine = (each: Stage) => incident.under !== undefined && each === 0;
  return [stage, copied].every((each) => isLine(each) || each >= stageOf(incident));
}

/**
 * The next step that brings the chat up to date: first what rings, the gravest and oldest before others, then the message
 * that is out of date for longest; `undefined` while nothing differs or the rate is used up. Pure.
 */
export function nextSending(
  book: Book,
  delivered: ReadonlyMap<string, Delivered>,
  pace: Pace,
  around: Surroundings,
): Sending | undefined {
  const sent = pace.sentMs.filter((atMs) => pace.nowMs - atMs < MINUTE_MS).length;
  if (sent >= SENDS_PER_MINUTE) return undefined;
  const all = [...book.values()].flatMap(
    (incident) => sendingOf(incident, deliveredOf(incident, delivered), book, pace, around) ?? [],
  );
  const nameOf = ({ incident }: Sending) => incidentOf(incident);
  const [first] = all.sort((one, other) => orderOf(one) - orderOf(other) || nameOf(one).localeCompare(nameOf(other)));
  return first?.isSilent && sent >= SILENT_PER_MINUTE ? undefined : first;
}

/** Rings come first, pages before others; then what is out of date for longest. */
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
  const isSent = before.messageId !== undefined;
  if (!isSent && (stage <= before.stage || !isDue(incident, pace))) return undefined;
  const isSilent = rowAt(incident).severity === 'info' || incident.under !== undefined || stage <= before.stage;
  const digest = digestOf(incident, book);
  const lines = Math.max(before.lines, shownOccurrences(incident).length);
  const after: Delivered = { ...before, stage: Math.max(stage, before.stage) as Stage, digest, lines };
  const message = messageOf(incident, around, book);
  if (!isSent) return { incident, after, message, isSilent };
  if (stage > before.stage) return { incident, after, message, reply: ringOf(incident), isSilent };
  if (digest !== before.digest && isEditable(before, pace)) return { incident, after, message, isSilent: true };
  const further = fitting(incident.occurrences.slice(before.lines));
  if (further.length === 0 || digest !== before.digest) return undefined;
  return {
    incident,
    after: { ...before, lines: before.lines + further.length },
    reply: further.join('\n'),
    isSilent: true,
  };
}

/** After the clock has stepped back, the last send lies ahead: so the difference is absolute. */
function isEditable({ sentMs }: Delivered, { nowMs, editEveryMs = EDIT_EVERY_MS }: Pace): boolean {
  return Math.abs(nowMs - sentMs) >= editEveryMs;
}

/** A digest of what justifies an edit. Texts are left out: with the ages in them, each check would edit the message. */
function digestOf(incident: Incident, book: Book): string {
  const { isOpen, level, messages, chats, letters, acts, under, occurrences, occurrencesMore, parts, waiting } =
    incident;
  const name = incidentOf(incident);
  const below = [...book.values()].filter((each) => isOpen && each.isOpen && each.under === name);
  const words = [
    ...[
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
    ],
    below.map((each) => [incidentOf(each), each.messages, each.chats]),
  ];
  return createHash('sha256').update(JSON.stringify(words)).digest('base64url').slice(0, 16);
}
