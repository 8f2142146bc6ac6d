import { createHash } from 'node:crypto';
import { z } from 'zod';
import { jsonValue } from '../../shared/base/fields.ts';
import type { Severity } from '../../shared/flow/alert.ts';
import type { HandedOver, Owed } from '../../shared/state/incident/notices.ts';
import type { Link } from '../../shared/telegram/messages.ts';
import { severityOf } from './causes.ts';
import type { Incident } from './incident.ts';
import { headline } from './notice-text.ts';

/** What is known of an incident besides the words of a notice. Times are ms since the epoch, by Redis' clock. */
export interface Facts {
  /** What it is, in a sentence or two. */
  what: string;
  openedMs: number;
  endedMs?: number | undefined;
  messages: number;
  chats: number;
}

/** What another tool is told of an incident, which opens, changes and ends there by its key. */
export interface Handover extends Facts {
  incident: string;
  /** By which the other tool knows this opening of the incident. */
  key: string;
  severity: Severity;
  isOver: boolean;
  /** Nobody was told of this opening before; it may be over by now. */
  isNew: boolean;
  /** The whole message. */
  text: string;
  /** What is new, in few words where the message is known already. */
  words: string;
  links: readonly Link[];
}

/** The facts of an incident as it is now. Pure. */
export function factsOf(incident: Incident): Facts {
  const { isOpen, openedMs, endedMs, messages, chats } = incident;
  return { what: headline(incident), openedMs, ...(!isOpen && { endedMs }), messages, chats };
}

/** The longest key that PagerDuty takes. */
const KEY_BYTES_MAX = 255;

/**
 * The key of an opening: the same whoever makes it, and another one when the incident comes back. Without an opening, the
 * key for all processes that tell of the same trouble by themselves. Pure.
 */
export function keyOf(installation: string, incident: string, openedMs?: number): string {
  const opening = openedMs === undefined ? [] : [new Date(openedMs).toISOString()];
  const key = [installation, incident, ...opening].join('/');
  return Buffer.byteLength(key) <= KEY_BYTES_MAX ? key : `spillway/${digest(key)}`;
}

/** A short name for a text of any length. Pure. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The cause of an incident, by its name. Pure. */
export function causeOf(incident: string): string {
  return incident.split(':')[0] ?? incident;
}

/** What is told next of an incident, as far as a handover needs it. */
export interface Told {
  incident: string;
  kind: string;
  text: string;
  links: readonly Link[];
  /** Absent where the message is a new one. */
  update?: string | undefined;
  facts: Facts;
}

/**
 * What the second channel is told of it. A change has the key by which the opening was handed over: a clock that stepped
 * back, or another name of the installation, gives the same opening another one. Pure.
 */
export function handoverOf(told: Told, handed: ReadonlyMap<string, HandedOver>, installation: string): Handover {
  const { incident, kind, text, links, update, facts } = told;
  const made = keyOf(installation, incident, facts.openedMs);
  const isNew = update === undefined;
  // What is done about it after its end does not open it again.
  const isOver = kind === 'resolved' || (kind === 'acted' && facts.endedMs !== undefined);
  const before = isNew || handed.has(made) ? undefined : keysOf(incident, handed).at(-1);
  return {
    ...facts,
    ...{ incident, key: before ?? made, severity: severityOf(causeOf(incident)) },
    ...{ isOver, isNew, text, words: update ?? text, links },
  };
}

/** The keys by which openings of an incident were handed over, the latest one last. */
function keysOf(incident: string, handed: ReadonlyMap<string, HandedOver>): string[] {
  const ours = [...handed].filter(([, opening]) => opening.incident === incident);
  return ours.toSorted(([, one], [, other]) => one.atMs - other.atMs).map(([key]) => key);
}

/** How the second channel is told. */
export interface SecondChannel {
  /** Whether it knows openings by their keys, and so can be told of each change and of an end that it did not ask for. */
  hasKeys: boolean;
  /** Whether it is told of each page, also of those that the first channel takes. */
  takesPages: boolean;
}

/** What the second channel was told, by key, with `undefined` for what is over; and what it is owed. */
export interface AfterTelling {
  handed: Map<string, HandedOver | undefined>;
  owed: Owed[];
}

/**
 * What follows for the second channel from a telling that the named channel took, or none did. What it was told of has to
 * change and end there, whoever told of that. Pure.
 */
export function afterTelling(
  second: SecondChannel,
  handover: Handover,
  by: string | undefined,
  handed: ReadonlyMap<string, HandedOver>,
  nowMs: number,
): AfterTelling {
  const { incident, key, isOver, isNew } = handover;
  const isTold = by === 'webhook';
  const isOwed = !isTold && isOwedTo(second, handover, by, handed.has(key));
  if (by === undefined && !isOwed) return { handed: new Map(), owed: [] };
  // What it is owed of this opening is older than what it was told.
  const owed = isTold ? [{ to: key, text: '' }] : isOwed ? [owedTo(handover, nowMs)] : [];
  const others = isNew || isOver ? keysOf(incident, handed).filter((each) => each !== key) : [];
  const isKnown = isTold || isOwed || handed.has(key);
  return {
    handed: new Map([
      ...others.map((each) => [each, undefined] as const),
      ...(isKnown ? [[key, isOver ? undefined : { incident, atMs: nowMs }] as const] : []),
    ]),
    owed: [...owed, ...ends(second, handover, others, nowMs)],
  };
}

/** What waits for the first channel is owed to the second one once: when it opens, and is a page. */
function isOwedTo(second: SecondChannel, handover: Handover, by: string | undefined, isHanded: boolean): boolean {
  const { isOver, isNew } = handover;
  const isPage = isForSecond(second, handover);
  if (by === undefined || (isNew && !isOver)) return isPage && isNew && !isHanded;
  return isPage || (isHanded && (isOver || second.hasKeys));
}

/** Whether the second channel is told of it as well, whatever the first one does. Pure. */
function isForSecond({ takesPages }: SecondChannel, { severity }: Pick<Handover, 'severity'>): boolean {
  return takesPages && severity === 'page';
}

/** Earlier openings whose end nobody told: they are over, or are this one under another key. */
function ends(second: SecondChannel, handover: Handover, keys: readonly string[], nowMs: number): Owed[] {
  if (!second.hasKeys) return [];
  const over = { ...handover, isOver: true, isNew: false, endedMs: nowMs };
  return keys.map((key) => owedTo({ ...over, key }, nowMs));
}

const OWED = z.looseObject({
  atMs: z.number(),
  key: z.string(),
  incident: z.string(),
  severity: z.enum(['page', 'today', 'note']).catch('today'),
  isOver: z.boolean(),
  isNew: z.boolean().catch(false),
  what: z.string(),
  text: z.string(),
  words: z.string(),
  links: z.array(z.object({ text: z.string(), url: z.string() })).catch([]),
  openedMs: z.number(),
  endedMs: z.number().optional().catch(undefined),
  messages: z.number().catch(0),
  chats: z.number().catch(0),
});

function owedTo(handover: Handover, atMs: number): Owed {
  return { to: handover.key, text: JSON.stringify({ ...handover, atMs }) };
}

/** What the second channel is owed, and since when; `undefined` where this version cannot read it. */
export function owedHandover(text: string): (Handover & { atMs: number }) | undefined {
  return OWED.safeParse(jsonValue(text)).data;
}
