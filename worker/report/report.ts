import type { Settings } from '../../shared/base/settings.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type EntryId, type Keys, keysOf, type LaneKey } from '../../shared/redis/keys.ts';
import { UnknownNameError } from '../../shared/state/lane/dead-letters.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';

/** A report as data: made once, and written by three renderers, for a terminal, for a phone and as a page. */
export interface Report {
  /** Absent where the verdict is the head. */
  title?: Text;
  /** When it was made: ages are counted from here. */
  nowMs: number;
  verdict?: Verdict;
  sections: readonly Section[];
  /** The steps that make sense, the likeliest first. */
  actions?: readonly Action[];
}

/** Words, with names that lead to another report and moments. */
export type Text = Piece | readonly Piece[];
export type Piece =
  | string
  | number
  | Name
  /** "3 min ago". */
  | { atMs: number }
  /** A dead letter, by its name: a page has its buttons. */
  | { letter: string }
  /** A page elsewhere. */
  | { href: string; text: string };

/**
 * The name of another report, or of a section of the runbook. A session is named `<chat>/<id>`; `dead` are the dead letters of
 * a chat, or all of them where `id` is empty.
 */
export interface Name {
  of: 'message' | 'chat' | 'dead' | 'session' | 'incident' | 'runbook';
  id: string;
  /** Shown instead of the id. */
  text?: string | number;
}

/** One colour on every surface: green, yellow, red, or none. */
export type Tone = 'good' | 'fair' | 'bad' | 'plain';

/** The head: the thing that matters most, in a line or two. */
export interface Verdict {
  tone: Tone;
  word?: string;
  reason: Text;
  more?: readonly Text[];
}

/** A part of a report. What is there is shown in this order. */
export interface Section {
  title?: string;
  intro?: Text;
  facts?: readonly Fact[];
  table?: { columns: readonly string[]; rows: readonly (readonly Text[])[] };
  items?: readonly Item[];
  timeline?: { fromMs: number; steps: readonly { atMs?: number; kind: string; text: string }[] };
  /** The words of people, for readers who may see them. */
  quote?: string;
  /** How many more there are than are shown, and what they are. */
  more?: { count: number; noun: string };
  /** In place of all the above where there is nothing. */
  empty?: string;
}

/** A number or a state, with its name. */
export interface Fact {
  name: string;
  value: Text;
  note?: Text;
  /** Of a part that works or fails. */
  tone?: 'good' | 'bad';
}

/** One thing of several, with a heading of its own, which begins with how severe it is. */
export interface Item {
  title: Text;
  tone: Tone;
  severity?: string;
  lines: readonly Text[];
  /** The section of the runbook, for those who can show it. */
  runbook?: string;
}

/** A step that an operator can take: the arguments of the command line, and the button of a page. */
export interface Action {
  command?: string;
  act?: Act;
}

/** An act of `worker/operator/`, as a button. */
export interface Act {
  verb: 'cancel' | 'retry' | 'pause' | 'resume' | 'replay' | 'purge' | 'close';
  /** A message, a chat, the name of a dead letter or of an incident, or `*` for every chat. */
  target: string;
  label: string;
}

/** A section about a list: its items where there are some, or else that there are none. */
export function listSection(title: string, part: Pick<Section, 'items' | 'table' | 'more'>, empty = 'None.'): Section {
  const count = part.items?.length ?? part.table?.rows.length ?? 0;
  return count === 0 ? { title, empty } : { title, ...part };
}

export function tableSection(title: string, columns: readonly string[], rows: readonly Text[][], empty?: string) {
  return listSection(title, { table: { columns, rows } }, empty);
}

/** A number or a state with its name, and what else is to be said of it. */
export function fact(name: string, value: Text, note?: Text): Fact {
  return note === undefined ? { name, value } : { name, value, note };
}

/** Those of several parts that are there. */
export function some<T>(...parts: readonly (T | false | undefined)[]): T[] {
  return parts.filter((part): part is T => part !== false && part !== undefined);
}

/** The records that match, in their order, up to so many. */
export async function matching<T>(records: AsyncIterable<T>, isMatch: (record: T) => boolean, most?: number) {
  const found: T[] = [];
  for await (const record of records) {
    if (isMatch(record)) found.push(record);
    if (found.length === most) break;
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

/** The end of a pause, of a chat or of every chat. */
export function resumeAction(chat: ChatKey | typeof EVERY_CHAT, label = 'Resume'): Action {
  if (chat === EVERY_CHAT) return { command: 'resume', act: { verb: 'resume', target: chat, label: 'Resume all' } };
  return { command: `resume ${chat}`, act: { verb: 'resume', target: chat, label } };
}

export function pauseAction(chat: ChatKey, label = 'Pause'): Action {
  return { command: `pause ${chat}`, act: { verb: 'pause', target: chat, label } };
}

/** The source of a report. Contract of every report: it only reads; it rejects when Redis cannot be reached. */
export interface ReportSource {
  redis: RedisClient;
  shards: number;
}

/** The source of the reports that depend on settings. */
export interface ReportGround extends ReportSource {
  settings: Settings;
}

/** The arguments of a report. */
export interface Asked {
  words: readonly string[];
  options: Readonly<Record<string, string | undefined>>;
  /** Whether the reader may see what people wrote; absent where that was not asked for. */
  content?: boolean;
  /** The message that asks, which is not counted. */
  own?: { entry: EntryId; lane: LaneKey };
}

/** A report that was read: for people, for machines, and as an exit code. */
export interface Shown {
  report: Report;
  json: unknown;
  /** 0 where it is absent. */
  code?: number;
}

export type ReadReport = (at: ReportGround, asked: Asked) => Promise<Shown>;

/** Nothing is known of a name, or it may mean several, which `choices` has. The message says so. */
export class UnknownName extends UnknownNameError {
  readonly choices: readonly Name[];
  constructor(message: string, choices: readonly Name[] = []) {
    super(message);
    this.choices = choices;
  }
}

/** A setting that a report needs is wrong. The message says how. */
export class UnusableSetting extends Error {}

/** The keys of all shards, in order. */
export function shardsOf({ shards }: Pick<ReportSource, 'shards'>): Keys[] {
  return Array.from({ length: shards }, (_, shard) => keysOf(shard));
}
