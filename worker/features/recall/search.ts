import type { AssistantRecord, LogRecord, ScrubRecord, UserRecord } from '../../session/record.ts';
import { type QuotableText, quotableText, searchableText } from './document.ts';
import { createMatcher, type Shares } from './matcher.ts';
import { eachWord, searchTermsIn } from './tokenizer.ts';

/** A message that matches, with the words that match. */
interface Hit {
  message: QuotableText;
  terms: ReadonlySet<string>;
}

/**
 * One search through the records of a chat.
 *
 * Contract: the caller adds records newest first. A record counts once, however often it is added. A message that was scrubbed
 * as a whole matches only words of its placeholder. The search holds fewer than 200 messages in memory at a time.
 */
export interface Search {
  take(record: LogRecord): void;
  /**
   * At most `hitsMax` matches, best first; among equally good ones, newest first. Messages with the same text count as one.
   * Omits messages for whose id `except` returns true.
   */
  best(hitsMax: number, except: (id: string) => boolean): Hit[];
  /** The number of messages searched so far, without those that have no text. */
  readonly size: number;
  /** The times of the oldest and newest searched message, in ms since the epoch; absent while no message has a time. */
  readonly span: { oldestMs: number; newestMs: number } | undefined;
}

type MessageRecord = UserRecord | AssistantRecord;

/** A message, and how well it matches each term. */
interface Candidate {
  record: MessageRecord;
  length: number;
  shares: Shares;
}

/** The constants k1, b and delta of BM25+, with MiniSearch's defaults. */
const [SATURATION, LENGTH_SHARE, FLOOR] = [1.2, 0.7, 0.5];
/** How many candidates an intermediate ranking keeps: so many that the final best are practically always among them. */
const CANDIDATES = 100;

/** Begins a search. */
export function createSearch(question: string): Search {
  const searchTerms = searchTermsIn(question);
  const matcher = createMatcher(searchTerms);
  const ranking = createRanking([...searchTerms.values()].map(({ boost }) => boost));
  const scrubs = new Map<string, string>();
  const ids = new Set<string>();
  let span: Search['span'];
  const placeholderOf = (record: MessageRecord) =>
    record.t === 'user' ? (scrubs.get(record.entry ?? '') ?? scrubs.get(record.id)) : undefined;
  const take = (record: MessageRecord): void => {
    const placeholder = placeholderOf(record);
    const visible = placeholder === undefined ? record : { ...record, content: placeholder };
    const text = searchableText(visible);
    if (ids.has(record.id) || text.trim() === '') return;
    ids.add(record.id);
    span = widen(span, record.at);
    ranking.take({ record: visible, length: text.length, shares: matcher.sharesIn(text) });
  };
  return {
    take(record) {
      if (record.t === 'scrub') notePlaceholder(scrubs, record);
      if (record.t === 'user' || record.t === 'assistant') take(record);
    },
    best(hitsMax, except) {
      const hits = new Map<string, Hit>();
      const texts = new Set<string>();
      for (const { record } of ranking.rank()) {
        if (hits.size === hitsMax) break;
        const text = searchableText(record);
        const isScrubbed = ![undefined, record.content].includes(placeholderOf(record));
        if (isScrubbed || texts.has(text) || except(record.id)) continue;
        texts.add(text);
        const message = quotableText(record);
        const terms = new Set<string>();
        eachWord(message?.text ?? '', (word) => matcher.isMatch(word) && terms.add(word));
        // If the redacted text has none of the terms, the match was in a credential.
        if (message && terms.size > 0 && !hits.has(message.text)) hits.set(message.text, { message, terms });
      }
      return [...hits.values()];
    },
    get size() {
      return ids.size;
    },
    get span() {
      return span;
    },
  };
}

/**
 * Ranks messages by a variant of BM25+: rare terms of the question weigh more, and among messages that match equally well, the
 * shortest comes first. The rarity of a term is squared, so that common words, as in "what did I say about", hardly count.
 */
function createRanking(boosts: readonly number[]) {
  /** For each term: how many messages match it exactly, and how many match it at all. */
  const [exact, any] = [boosts.map(() => 0), boosts.map(() => 0)];
  const all = { messages: 0, chars: 0 };
  let candidates: Candidate[] = [];
  const rarity = (matches: number) => Math.log(1 + (all.messages - matches + 0.5) / (matches + 0.5));
  const scoreOf = ({ length, shares }: Candidate): number => {
    const relative = 1 - LENGTH_SHARE + (LENGTH_SHARE * length * all.messages) / all.chars;
    const weight = [...shares].reduce((sum, [at, share]) => {
      const rare = rarity((share === 1 ? exact : any)[at] ?? 0);
      return sum + rare * rare * share * (boosts[at] ?? 0);
    }, 0);
    return weight * weight * (FLOOR + (SATURATION + 1) / (1 + SATURATION * relative));
  };
  /** The candidates, best first; equally good ones in the order in which they were added. */
  const rank = (): Candidate[] => {
    const scored = candidates.map((each) => ({ each, score: scoreOf(each) }));
    return scored.sort((one, other) => other.score - one.score).map(({ each }) => each);
  };
  return {
    rank,
    take(message: Candidate): void {
      all.messages += 1;
      all.chars += message.length;
      for (const [at, share] of message.shares) {
        any[at] = (any[at] ?? 0) + 1;
        if (share === 1) exact[at] = (exact[at] ?? 0) + 1;
      }
      if (message.shares.size > 0) candidates.push(message);
      if (candidates.length >= 2 * CANDIDATES) candidates = rank().slice(0, CANDIDATES);
    },
  };
}

/**
 * Stores the placeholder of a message that was scrubbed as a whole; of several placeholders, the newest. Ignores the scrub of a
 * single block, so that the other words of the message stay searchable.
 */
function notePlaceholder(scrubs: Map<string, string>, { entry, record, block, text }: ScrubRecord): void {
  const target = entry ?? record ?? '';
  if (block === undefined && target !== '' && !scrubs.has(target)) scrubs.set(target, text);
}

function widen(span: Search['span'], time: string): Search['span'] {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return span;
  return { oldestMs: Math.min(atMs, span?.oldestMs ?? atMs), newestMs: Math.max(atMs, span?.newestMs ?? atMs) };
}
