import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';

/**
 * One report as whoever reads it sees it: built once, and written by small renderers, for a terminal and as a page. It
 * holds no words of any message unless its reader asked for them.
 */
export interface Report {
  /** Absent where the verdict is the head. */
  title?: Text;
  /** When it was made: what was some time ago is counted from here. */
  nowMs: number;
  verdict?: Verdict;
  sections: readonly Section[];
  /** The steps that make sense, the likeliest first. */
  actions?: readonly Action[];
}

/** Words, with names that lead to another report and moments. */
export type Text = Piece | readonly Piece[];
export type Piece = string | number | Name | Moment | Letter;

/**
 * A message, a chat, a session (`<chat>/<id>`), an incident, or a section of the runbook; or `letters`: the dead letters of a chat, or all of them
 * where `id` is empty.
 */
export interface Name {
  of: 'message' | 'chat' | 'letters' | 'session' | 'incident' | 'runbook';
  id: string;
  /** Shown instead of the id. */
  text?: string | number;
}

/** "3 min ago". */
export interface Moment {
  atMs: number;
}

/** A dead letter that can be put back, by its name. */
export interface Letter {
  letter: string;
}

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
  /** The words of a user, for readers who may see them. */
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

/** One thing of several, with a heading of its own. */
export interface Item {
  title: Text;
  tone: 'bad' | 'over';
  lines: readonly Text[];
  /** The section of the runbook that is read now, for those who can show it. */
  runbook?: string;
}

/** The arguments of the command line that does something, and what a page can do in its place. */
export interface Action {
  command: string;
  /** The dead letter that is put back. */
  letter?: string;
  act?: Act;
}

/** What a button does: a verb of `worker/operator/`, and what it is about. */
export interface Act {
  verb: 'cancel' | 'retry' | 'pause' | 'resume' | 'replay' | 'purge';
  /** A message, a chat, the name of a dead letter, or `*` for every chat. */
  target: string;
  /** The words on the button. */
  label: string;
}

/** A section about a list: its items where there are some, or else that there are none. */
export function listSection(title: string, part: Pick<Section, 'items' | 'table' | 'more'>, empty = 'None.'): Section {
  const count = part.items?.length ?? part.table?.rows.length ?? 0;
  return count === 0 ? { title, empty } : { title, ...part };
}

export const messageName = (id: string): Name => ({ of: 'message', id });
export const chatName = (id: string): Name => ({ of: 'chat', id });

/** Words that name a section of the runbook. */
export function runbookWords(...words: readonly [...before: readonly string[], name: string]): Piece[] {
  const before = words.slice(0, -1).filter((each) => each !== '');
  return [...before.map((each) => `${each} `), 'Runbook: ', { of: 'runbook', id: words.at(-1) ?? '' }];
}

/** Texts one behind the other. */
export function joined(...texts: readonly Text[]): Piece[] {
  return texts.flatMap((text) => (Array.isArray(text) ? (text as readonly Piece[]) : [text as Piece]));
}

/**
 * The source of a report. A report only reads; it is a plain value that holds no words of any message. Contract of
 * every report: rejects when Redis cannot be reached.
 */
export interface ReportSource {
  redis: RedisClient;
  /** The number of shards. */
  shards: number;
}

/** The keys of all shards, in order. */
export function shardsOf({ shards }: Pick<ReportSource, 'shards'>): Keys[] {
  return Array.from({ length: shards }, (_, shard) => keysOf(shard));
}
