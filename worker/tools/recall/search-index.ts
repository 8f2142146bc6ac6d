import MiniSearch from 'minisearch';
import type { LogRecord, ScrubRecord } from '../../session/record.ts';
import { type Memory, memoryOf } from './document.ts';
import { eachWord, isPair, soughtIn } from './tokenizer.ts';

/** A memory that was found, with its words that matched. */
export interface Hit {
  memory: Memory;
  terms: ReadonlySet<string>;
}

/**
 * A search index of what was said, in memory.
 *
 * Contract: a record is taken once, however often it is added; a message that was scrubbed as a whole is found only by
 * the words of its placeholder. `add` yields to other work every few milliseconds; two calls must not overlap.
 */
export interface MemoryIndex {
  add(records: readonly LogRecord[]): Promise<void>;
  /** Best first. */
  search(question: string, hitsMax: number, except: (id: string) => boolean): Hit[];
  readonly size: number;
  /** Its size in memory, in bytes of plain text that would take about as much. */
  readonly weight: number;
  /** When the oldest and the newest memory were written, in ms since the epoch; absent while none has a time. */
  readonly span: { oldestMs: number; newestMs: number } | undefined;
}

/** About as much text as ten milliseconds can index. */
const SLICE_CHARS = 10_000;
const WORD_WEIGHT = 10;
/** Pairs of signs repeat far less than words do, and each new one takes its own place in the index. */
const PAIR_WEIGHT = 50;

/** An empty index. */
export function createMemoryIndex(): MemoryIndex {
  let weight = 0;
  const tokenize = (text: string) => {
    const terms = termsOf(text);
    for (const term of terms) weight += isPair(term) ? PAIR_WEIGHT : WORD_WEIGHT;
    return terms;
  };
  const index = new MiniSearch<Memory>({ fields: ['text'], tokenize, processTerm: (term) => term });
  let span: MemoryIndex['span'];
  const { memories, taken } = keepMemories((id) => {
    if (index.has(id)) index.discard(id);
  });
  const keep = async (batch: ReadonlyMap<string, Memory>) => {
    await index.addAllAsync([...batch.values()], { chunkSize: Math.max(1, batch.size) });
    for (const { at } of batch.values()) span = widened(span, at);
  };
  return {
    async add(records) {
      let batch = new Map<string, Memory>();
      let chars = 0;
      for (const record of records) {
        const memory = taken(record);
        if (!memory) continue;
        memories.set(memory.id, memory);
        batch.set(memory.id, memory);
        chars += memory.text.length;
        if (chars < SLICE_CHARS) continue;
        await keep(batch);
        [batch, chars] = [new Map(), 0];
      }
      await keep(batch);
    },
    search(question, hitsMax, except) {
      const sought = soughtIn(question);
      const found = index.search(question, {
        tokenize: () => [...sought.keys()],
        prefix: (term) => sought.get(term)?.prefix ?? false,
        fuzzy: (term) => sought.get(term)?.fuzzy ?? false,
        boostTerm: (term) => sought.get(term)?.boost ?? 1,
        filter: ({ id }) => !except(id),
      });
      return found.slice(0, hitsMax).flatMap(({ id, terms }) => {
        const memory = memories.get(id);
        return memory ? [{ memory, terms: new Set(terms) }] : [];
      });
    },
    get weight() {
      return weight;
    },
    get size() {
      return memories.size;
    },
    get span() {
      return span;
    },
  };
}

/** Memories by their ids. `forget` is called with each memory whose words change. */
function keepMemories(forget: (id: string) => void) {
  const memories = new Map<string, Memory>();
  const idsByEntry = new Map<string, string>();
  const scrubs = new Map<string, string>();
  const scrubbed = ({ entry, record, block, text }: ScrubRecord): Memory | undefined => {
    const target = entry ?? record ?? '';
    // A single block is scrubbed for its size alone: the message may still be found by all of its words.
    if (block !== undefined || target === '') return undefined;
    scrubs.set(target, text);
    const known = memories.get(idsByEntry.get(target) ?? target);
    if (!known) return undefined;
    forget(known.id);
    return { ...known, text };
  };
  /** The memory of a record that is new, or whose words changed. */
  const taken = (record: LogRecord): Memory | undefined => {
    if (record.t === 'scrub') return scrubbed(record);
    if ((record.t !== 'user' && record.t !== 'assistant') || memories.has(record.id)) return undefined;
    if (record.entry !== undefined && record.t === 'user') idsByEntry.set(record.entry, record.id);
    const instead = record.t === 'user' ? (scrubs.get(record.entry ?? '') ?? scrubs.get(record.id)) : undefined;
    return memoryOf(instead === undefined ? record : { ...record, content: instead });
  };
  return { memories, taken };
}

function widened(span: MemoryIndex['span'], time: string): MemoryIndex['span'] {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return span;
  return { oldestMs: Math.min(atMs, span?.oldestMs ?? atMs), newestMs: Math.max(atMs, span?.newestMs ?? atMs) };
}

/** Each word once: repetition hardly changes a message's rank, and indexing takes half the time. */
function termsOf(text: string): string[] {
  const terms = new Set<string>();
  eachWord(text, (term) => terms.add(term));
  return [...terms];
}
