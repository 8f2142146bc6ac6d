import type { AssistantRecord, LogRecord, ScrubRecord, UserRecord } from '../../session/record.ts';
import { type Memory, memoryOf, saidIn } from './document.ts';
import { createMatcher, type Shares } from './matcher.ts';
import { eachWord, soughtIn } from './tokenizer.ts';

/** A memory that was found, with its words that matched. */
interface Hit {
  memory: Memory;
  terms: ReadonlySet<string>;
}

/**
 * One search through what was said.
 *
 * Contract: records are taken newest first. One is counted once, however often it is taken; a message that was scrubbed
 * as a whole is found only by the words of its placeholder. It keeps the text of at most 200 of them at a time.
 */
export interface Search {
  take(record: LogRecord): void;
  /** Best first; of those that match as well as another one, the newest. The same text is found once. */
  best(hitsMax: number, except: (id: string) => boolean): Hit[];
  /** Messages that were looked through. */
  readonly size: number;
  /** When the oldest and the newest of them were written, in ms since the epoch; absent while none has a time. */
  readonly span: { oldestMs: number; newestMs: number } | undefined;
}

type Said = UserRecord | AssistantRecord;

/** A message, and which of the sought words it has. */
interface Found {
  record: Said;
  length: number;
  shares: Shares;
}

/** The usual constants of BM25+. */
const [SATURATION, LENGTH_SHARE, FLOOR] = [1.2, 0.7, 0.5];
/** The candidates by a first ranking; a message that is not among them is not among the best few in the end. */
const CANDIDATES = 100;

/** Begins a search. */
export function createSearch(question: string): Search {
  const sought = soughtIn(question);
  const matcher = createMatcher(sought);
  const ranking = createRanking([...sought.values()].map(({ boost }) => boost));
  const scrubs = new Map<string, string>();
  const seen = new Set<string>();
  let span: Search['span'];
  const placeholderOf = (record: Said) =>
    record.t === 'user' ? (scrubs.get(record.entry ?? '') ?? scrubs.get(record.id)) : undefined;
  const take = (record: Said): void => {
    const placeholder = placeholderOf(record);
    const shown = placeholder === undefined ? record : { ...record, content: placeholder };
    const said = saidIn(shown);
    if (seen.has(record.id) || said.trim() === '') return;
    seen.add(record.id);
    span = widened(span, record.at);
    ranking.take({ record: shown, length: said.length, shares: matcher.sharesIn(said) });
  };
  return {
    take(record) {
      if (record.t === 'scrub') scrub(scrubs, record);
      if (record.t === 'user' || record.t === 'assistant') take(record);
    },
    best(hitsMax, except) {
      const hits = new Map<string, Hit>();
      const tried = new Set<string>();
      for (const { record } of ranking.ranked()) {
        if (hits.size === hitsMax) break;
        const said = saidIn(record);
        const isScrubbed = ![undefined, record.content].includes(placeholderOf(record));
        if (isScrubbed || tried.has(said) || except(record.id)) continue;
        tried.add(said);
        const memory = memoryOf(record);
        const terms = new Set<string>();
        eachWord(memory?.text ?? '', (term) => matcher.isSought(term) && terms.add(term));
        // If no term is left, the match was in a credential.
        if (memory && terms.size > 0 && !hits.has(memory.text)) hits.set(memory.text, { memory, terms });
      }
      return [...hits.values()];
    },
    get size() {
      return seen.size;
    },
    get span() {
      return span;
    },
  };
}

/**
 * The messages that have most of what is rare in a question, in short texts rather than in long ones. Rarity counts twice,
 * as usual: once for the question's words and once for the message's. So "what did I say about" decides nothing.
 */
function createRanking(boosts: readonly number[]) {
  /** How many messages have each word, as it is and at all. */
  const [exact, any] = [boosts.map(() => 0), boosts.map(() => 0)];
  const all = { messages: 0, chars: 0 };
  let found: Found[] = [];
  const rarity = (having: number) => Math.log(1 + (all.messages - having + 0.5) / (having + 0.5));
  const scoreOf = ({ length, shares }: Found): number => {
    const relative = 1 - LENGTH_SHARE + (LENGTH_SHARE * length * all.messages) / all.chars;
    const weight = [...shares].reduce((sum, [at, share]) => {
      const rare = rarity((share === 1 ? exact : any)[at] ?? 0);
      return sum + rare * rare * share * (boosts[at] ?? 0);
    }, 0);
    return weight * weight * (FLOOR + (SATURATION + 1) / (1 + SATURATION * relative));
  };
  /** Best first; as they were taken where they are as good. */
  const ranked = (): Found[] => {
    const scored = found.map((each) => ({ each, score: scoreOf(each) }));
    return scored.sort((one, other) => other.score - one.score).map(({ each }) => each);
  };
  return {
    ranked,
    take(message: Found): void {
      all.messages += 1;
      all.chars += message.length;
      for (const [at, share] of message.shares) {
        any[at] = (any[at] ?? 0) + 1;
        if (share === 1) exact[at] = (exact[at] ?? 0) + 1;
      }
      if (message.shares.size > 0) found.push(message);
      if (found.length >= 2 * CANDIDATES) found = ranked().slice(0, CANDIDATES);
    },
  };
}

/** A single block is scrubbed for its size alone: the message may still be found by all of its words. */
function scrub(scrubs: Map<string, string>, { entry, record, block, text }: ScrubRecord): void {
  const target = entry ?? record ?? '';
  if (block === undefined && target !== '' && !scrubs.has(target)) scrubs.set(target, text);
}

function widened(span: Search['span'], time: string): Search['span'] {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return span;
  return { oldestMs: Math.min(atMs, span?.oldestMs ?? atMs), newestMs: Math.max(atMs, span?.newestMs ?? atMs) };
}
