import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { LogRecord, ScrubRecord } from '../../session/record.ts';
import { type Memory, memoryOf } from './document.ts';
import { eachWord, near, type Sought, soughtIn } from './tokenizer.ts';

/** A memory that was found, with its words that matched. */
export interface Hit {
  memory: Memory;
  terms: ReadonlySet<string>;
}

/**
 * A search index of what was said.
 *
 * Contract: a record is taken once, however often it is added; a message that was scrubbed as a whole is found only by
 * the words of its placeholder. `add` yields to other work every few milliseconds; two calls must not overlap. Both
 * throw what SQLite does (`isIndexFailure`); an index that did is to be closed.
 */
export interface MemoryIndex {
  add(records: readonly LogRecord[]): Promise<void>;
  /** Best first. */
  search(question: string, hitsMax: number, except: (id: string) => boolean): Hit[];
  readonly size: number;
  /** Bytes in its file, or as many as the file would have. */
  readonly fileBytes: number;
  /** What it keeps in memory, in bytes: an estimate. */
  readonly heldBytes: number;
  /** When the oldest and the newest memory were written, in ms since the epoch; absent while none has a time. */
  readonly span: { oldestMs: number; newestMs: number } | undefined;
  /** Erases it. May be repeated. */
  close(): void;
}

/** Where an index is: a file that never has a name, so that it is gone with the process, however that ends; or memory. */
export const UNNAMED_FILE = '';
export const IN_MEMORY = ':memory:';

/** Whether it was the index that failed: its disk is full, cannot be written, or gave back something else. Pure. */
export function isIndexFailure(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_SQLITE_ERROR';
}

const PAGE_BYTES = 4_096;
const CACHE_BYTES = 2 * 1024 * 1024;
/** What an open database takes beside its pages, with the words that it has not yet written. */
const OPEN_BYTES = 1024 * 1024;
const LENGTH_BYTES = 8;
/** About as much text as ten milliseconds can index. */
const SLICE_CHARS = 10_000;

// The words come as our tokenizer makes them: for SQLite's, all of their signs are letters.
const SCHEMA = `
  PRAGMA page_size = ${PAGE_BYTES};
  PRAGMA cache_size = -${CACHE_BYTES / 1024};
  PRAGMA synchronous = OFF;
  CREATE TABLE said (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, entry TEXT, at TEXT, who TEXT, text TEXT NOT NULL);
  CREATE INDEX said_by_entry ON said (entry) WHERE entry IS NOT NULL;
  CREATE VIRTUAL TABLE words USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '-_.:/@#+~'"
  );
  CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
`;

/** An empty index. Throws where it cannot be opened. */
export function createMemoryIndex(place: string = UNNAMED_FILE): MemoryIndex {
  const db = new DatabaseSync(place);
  // What SQLite notes to undo a statement would go to the disk, too.
  db.exec(`PRAGMA journal_mode = ${place === IN_MEMORY ? 'MEMORY' : 'OFF'}`);
  const { lengths, ...store } = openStore(db);
  const pages = db.prepare('PRAGMA page_count');
  let span: MemoryIndex['span'];
  const fileBytes = () => Number(pages.get()?.page_count) * PAGE_BYTES;
  return {
    async add(records) {
      db.exec('BEGIN');
      let chars = 0;
      for (const record of records) {
        const memory = store.take(record);
        if (!memory) continue;
        span = widened(span, memory.at);
        chars += memory.text.length;
        if (chars < SLICE_CHARS) continue;
        await setImmediate();
        chars = 0;
      }
      db.exec('COMMIT');
    },
    search(question, hitsMax, except) {
      const sought = soughtIn(question);
      const { ranked, similar } = ranking(db, sought, lengths);
      const hits: Hit[] = [];
      for (const n of ranked) {
        const memory = store.memory(n);
        if (memory && !except(memory.id)) hits.push({ memory, terms: matching(memory.text, sought, similar) });
        if (hits.length === hitsMax) break;
      }
      return hits;
    },
    get size() {
      return lengths.size;
    },
    get fileBytes() {
      return fileBytes();
    },
    get heldBytes() {
      const cached = place === IN_MEMORY ? fileBytes() : Math.min(fileBytes(), CACHE_BYTES);
      return OPEN_BYTES + cached + lengths.size * LENGTH_BYTES;
    },
    get span() {
      return span;
    },
    close() {
      if (db.isOpen) db.close();
    },
  };
}

/** How many different words each memory has; a memory's number counts from 1. */
interface Lengths {
  of: number[];
  sum: number;
  size: number;
}

/** The tables of a new database. */
function openStore(db: DatabaseSync) {
  db.exec(SCHEMA);
  const insert = db.prepare('INSERT OR IGNORE INTO said (id, entry, at, who, text) VALUES (?, ?, ?, ?, ?)');
  const replace = db.prepare('UPDATE said SET text = ? WHERE n = ?');
  const find = db.prepare('SELECT n, id, at, who FROM said WHERE entry = ?1 OR id = ?1 ORDER BY entry IS NULL');
  const read = db.prepare('SELECT id, at, who, text FROM said WHERE n = ?');
  const addWords = db.prepare('INSERT INTO words (rowid, terms) VALUES (?, ?)');
  const removeWords = db.prepare('DELETE FROM words WHERE rowid = ?');
  const lengths: Lengths = { of: [0], sum: 0, size: 0 };
  const scrubs = new Map<string, string>();
  const index = (n: number, text: string) => {
    const terms = termsOf(text);
    addWords.run(n, terms.join(' '));
    lengths.sum += terms.length - (lengths.of[n] ?? 0);
    lengths.of[n] = terms.length;
  };
  const scrub = ({ entry, record, block, text }: ScrubRecord): Memory | undefined => {
    const target = entry ?? record ?? '';
    // A single block is scrubbed for its size alone: the message may still be found by all of its words.
    if (block !== undefined || target === '') return undefined;
    scrubs.set(target, text);
    const known = find.get(target) as (Memory & { n: number }) | undefined;
    if (!known) return undefined;
    removeWords.run(known.n);
    replace.run(text, known.n);
    index(known.n, text);
    return { ...known, text };
  };
  return {
    lengths,
    memory: (n: number) => read.get(n) as Memory | undefined,
    /** The memory of a record that is new, or whose words changed. */
    take(record: LogRecord): Memory | undefined {
      if (record.t === 'scrub') return scrub(record);
      if (record.t !== 'user' && record.t !== 'assistant') return undefined;
      const instead = record.t === 'user' ? (scrubs.get(record.entry ?? '') ?? scrubs.get(record.id)) : undefined;
      const memory = memoryOf(instead === undefined ? record : { ...record, content: instead });
      if (!memory) return undefined;
      const { id, at, who, text } = memory;
      const entry = record.t === 'user' ? (record.entry ?? null) : null;
      const { changes, lastInsertRowid } = insert.run(id, entry, at, who, text);
      if (changes === 0) return undefined;
      lengths.size += 1;
      index(Number(lastInsertRowid), text);
      return memory;
    },
  };
}

const PREFIX_SHARE = 0.375;
const SIMILAR_SHARE = 0.45;
/** The usual constants of BM25+. */
const [SATURATION, LENGTH_SHARE, FLOOR] = [1.2, 0.7, 0.5];

/** The numbers of the memories that a question finds, best first, and the words that are spelt nearly as it spells them. */
function ranking(db: DatabaseSync, sought: ReadonlyMap<string, Sought>, { of, sum, size }: Lengths) {
  const find = db.prepare('SELECT rowid AS n FROM words WHERE words MATCH ?');
  const similar = new Set<string>();
  const scores = new Map<number, number>();
  const matched = new Map<number, number>();
  for (const [term, { prefix, fuzzy, boost }] of sought) {
    const own = new Map<number, number>();
    const count = (match: string, share: number) => {
      const rows = find.all(match) as { n: number }[];
      const rarity = Math.log(1 + (size - rows.length + 0.5) / (rows.length + 0.5)) * boost * share;
      for (const { n } of rows) {
        const length = 1 - LENGTH_SHARE + (LENGTH_SHARE * (of[n] ?? 0) * size) / sum;
        const score = rarity * (FLOOR + (SATURATION + 1) / (1 + SATURATION * length));
        own.set(n, Math.max(own.get(n) ?? 0, score));
      }
    };
    count(quoted(term), 1);
    if (prefix) count(`${quoted(term)}*`, PREFIX_SHARE);
    for (const [other, edits] of fuzzy === false ? [] : similarTo(db, term, Math.round(term.length * fuzzy))) {
      similar.add(other);
      count(quoted(other), (SIMILAR_SHARE * term.length) / (term.length + edits));
    }
    for (const [n, score] of own) {
      scores.set(n, (scores.get(n) ?? 0) + score);
      matched.set(n, (matched.get(n) ?? 0) + 1);
    }
  }
  const rank = ([n, score]: [number, number]) => score * (matched.get(n) ?? 0);
  const ranked = [...scores].sort((a, b) => rank(b) - rank(a) || a[0] - b[0]).map(([n]) => n);
  return { ranked, similar };
}

/** The words of the index that begin like a word and are spelt nearly like it, with the number of edits. */
function similarTo(db: DatabaseSync, term: string, editsMax: number): [string, number][] {
  const first = String.fromCodePoint(term.codePointAt(0) ?? 0);
  const beyond = String.fromCodePoint((first.codePointAt(0) ?? 0) + 1);
  const words = db.prepare('SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?');
  const rows = words.all(first, beyond, term.length - editsMax, term.length + editsMax) as { term: string }[];
  return rows.flatMap(({ term: other }) => {
    const edits = near(term, other, editsMax);
    return edits === undefined || edits === 0 ? [] : [[other, edits] satisfies [string, number]];
  });
}

function matching(text: string, sought: ReadonlyMap<string, Sought>, similar: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  eachWord(text, (word) => {
    if (found.has(word)) return;
    const isSought =
      similar.has(word) || [...sought].some(([t, { prefix }]) => (prefix ? word.startsWith(t) : word === t));
    if (isSought) found.add(word);
  });
  return found;
}

/** A word as a search of SQLite. No word holds a quote. */
function quoted(term: string): string {
  return `"${stored(term)}"`;
}

/** What our tokenizer leaves of ASCII in rare signs, brackets and spaces, would end a word. */
function stored(term: string): string {
  return term.replace(/[^\w\-.:/@#+~\u0080-\uffff]/g, '_');
}

function widened(span: MemoryIndex['span'], time: string): MemoryIndex['span'] {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return span;
  return { oldestMs: Math.min(atMs, span?.oldestMs ?? atMs), newestMs: Math.max(atMs, span?.newestMs ?? atMs) };
}

/** Each word once: repetition hardly changes a message's rank, and indexing takes half the time. */
function termsOf(text: string): string[] {
  const terms = new Set<string>();
  eachWord(text, (term) => terms.add(stored(term)));
  return [...terms];
}
