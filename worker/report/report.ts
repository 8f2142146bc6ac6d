import type { Settings } from '../../shared/base/settings.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type EntryId, type Keys, keysOf, type LaneKey } from '../../shared/redis/keys.ts';
import { UnknownNameError } from '../../shared/state/lane/dead-letters.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';

/** A report as data. Three renderers show it: in a terminal, in a chat and on a page. */
export interface Report {
  /** Absent if the report begins with the verdict. */
  title?: Text;
  /** The time of the report; ages count from this time. */
  nowMs: number;
  verdict?: Verdict;
  sections: readonly Section[];
  /** The possible actions, the likeliest first. */
  actions?: readonly Action[];
}

/** Text with links to other reports, and with times. */
export type Text = Piece | readonly Piece[];
export type Piece =
  | string
  | number
  | Name
  /** A time, shown as its age, such as "3 min ago". */
  | { atMs: number }
  /** The name of a dead letter. On a page, the renderer adds buttons for the letter. */
  | { letter: string }
  /** A link to a page outside the console. */
  | { href: string; text: string };

/**
 * A link to another report, or to a section of the runbook. The id of a session is `<chat>/<id>`. `dead` links to the dead
 * letters of a chat or, if `id` is empty, to all dead letters.
 */
export interface Name {
  of: 'message' | 'chat' | 'dead' | 'session' | 'incident' | 'runbook';
  id: string;
  /** The visible text; default: the id. */
  text?: string | number;
}

/** The colour on every surface: green, yellow, red, or none. */
export type Tone = 'good' | 'fair' | 'bad' | 'plain';

/** The most important statement of a report, in a line or two. */
export interface Verdict {
  tone: Tone;
  word?: string;
  reason: Text;
  more?: readonly Text[];
}

/** A part of a report. Renderers show the fields that are set. */
export interface Section {
  title?: string;
  intro?: Text;
  facts?: readonly Fact[];
  table?: { columns: readonly string[]; rows: readonly (readonly Text[])[] };
  items?: readonly Item[];
  timeline?: { fromMs: number; steps: readonly { atMs?: number; kind: string; text: string }[] };
  /** Text of a conversation, for readers with permission to see it. */
  quote?: string;
  /** The number of further entries, which the section omits, and their noun. */
  more?: { count: number; noun: string };
  /** Text to show below the title, in a section that has nothing else to show. */
  empty?: string;
}

/** A number or a state, with its name. */
export interface Fact {
  name: string;
  value: Text;
  note?: Text;
  /** Whether the part that the fact describes works; absent if the fact is not a state. */
  tone?: 'good' | 'bad';
}

/** An entry of a list, with its own heading. The heading begins with the severity. */
export interface Item {
  title: Text;
  tone: Tone;
  severity?: string;
  lines: readonly Text[];
  /** The section of the runbook, for renderers that can show it. */
  runbook?: string;
}

/** A possible action of an operator, as arguments of the command line, as a button, or both. */
export interface Action {
  command?: string;
  act?: ActionButton;
}

/** A button that runs an action of `worker/operator/`. */
export interface ActionButton {
  verb: 'cancel' | 'retry' | 'pause' | 'resume' | 'replay' | 'purge' | 'close';
  /** A message, a chat, the name of a dead letter or of an incident, or `*` for every chat. */
  target: string;
  label: string;
}

/** A section with a list, or with the text `empty` if the list has no entries. */
export function listSection(title: string, part: Pick<Section, 'items' | 'table' | 'more'>, empty = 'None.'): Section {
  const count = part.items?.length ?? part.table?.rows.length ?? 0;
  return count === 0 ? { title, empty } : { title, ...part };
}

export function tableSection(title: string, columns: readonly string[], rows: readonly Text[][], empty?: string) {
  return listSection(title, { table: { columns, rows } }, empty);
}

/** A number or a state with its name and an optional note. */
export function fact(name: string, value: Text, note?: Text): Fact {
  return note === undefined ? { name, value } : { name, value, note };
}

/** The parts without `false` and `undefined`. */
export function compact<T>(...parts: readonly (T | false | undefined)[]): T[] {
  return parts.filter((part): part is T => part !== false && part !== undefined);
}

/** Finds the first `max` matching records, by default all, in the order of `records`. */
export async function findMatching<T>(records: AsyncIterable<T>, isMatch: (record: T) => boolean, max?: number) {
  const found: T[] = [];
  for await (const record of records) {
    if (isMatch(record)) found.push(record);
    if (found.length === max) break;
  }
  return found;
}

export const messageName = (id: string): Name => ({ of: 'message', id });
export const chatName = (id: string): Name => ({ of: 'chat', id });
export const sessionName = (chat: string, id: string): Name => ({ of: 'session', id: `${chat}/${id}`, text: id });

export function piecesOf(text: Text): readonly Piece[] {
  return Array.isArray(text) ? text : [text as Piece];
}

export function runbookWords(before: string, name: string): Piece[] {
  return [before === '' ? 'Runbook: ' : `${before} Runbook: `, { of: 'runbook', id: name }];
}

/** The action that resumes a chat, or every chat. */
export function resumeAction(chat: ChatKey | typeof EVERY_CHAT, label = 'Resume'): Action {
  if (chat === EVERY_CHAT) return { command: 'resume', act: { verb: 'resume', target: chat, label: 'Resume all' } };
  return { command: `resume ${chat}`, act: { verb: 'resume', target: chat, label } };
}

export function pauseAction(chat: ChatKey, label = 'Pause'): Action {
  return { command: `pause ${chat}`, act: { verb: 'pause', target: chat, label } };
}

/** The source of a report. Contract: every report only reads, and rejects when Redis cannot be reached. */
export interface ReportSource {
  redis: RedisClient;
  shards: number;
}

/** The source of reports that also need settings. */
export interface ReportContext extends ReportSource {
  settings: Settings;
}

/** The arguments of a report. */
export interface ReportRequest {
  words: readonly string[];
  options: Readonly<Record<string, string | undefined>>;
  /** Whether to show users' text: false if the reader asked for it but may not see it; absent if the reader did not ask. */
  content?: boolean;
  /** The message that requests the report; counts leave it out. */
  caller?: { entry: EntryId; lane: LaneKey };
}

/** A report for people and for machines, with an exit code. */
export interface ReportResult {
  report: Report;
  json: unknown;
  /** Default: 0. */
  code?: number;
}

export type ReadReport = (at: ReportContext, request: ReportRequest) => Promise<ReportResult>;

/** The error that a name is unknown, or that it fits several things (see `choices`). The message is for the operator. */
export class UnknownName extends UnknownNameError {
  readonly choices: readonly Name[];
  constructor(message: string, choices: readonly Name[] = []) {
    super(message);
    this.choices = choices;
  }
}

/** The error that a setting is unusable for a report. The message is for the operator. */
export class UnusableSetting extends Error {}

/** The keys of all shards, in the order of the shards' numbers. */
export function shardsOf({ shards }: Pick<ReportSource, 'shards'>): Keys[] {
  return Array.from({ length: shards }, (_, shard) => keysOf(shard));
}
