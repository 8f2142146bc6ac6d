import type { Remembered } from './chat-index.ts';
import { snippet } from './snippet.ts';

/** A place of a chat's history that matches a search. */
export interface Quote {
  /** `NaN` where its time is unknown. */
  atMs: number;
  /** A user's name, or "user", "assistant" or "tool". */
  who: string;
  /** On one line. */
  text: string;
}

const HITS_MAX = 8;
const SNIPPET_CHARS = 400;

/** The places that match a search best, best first, at most 8. Pure. */
export function quotesIn({ index, shown }: Remembered, query: string): Quote[] {
  const hits = index.search(query, HITS_MAX, (id) => id === shown);
  return hits.map(({ memory: { at, who, text }, terms }) => ({
    atMs: Date.parse(at),
    who,
    text: snippet(text, terms, SNIPPET_CHARS),
  }));
}

/** A time to the minute, in UTC. Pure. */
export function minute(atMs: number): string {
  return Number.isNaN(atMs) ? 'undated' : `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
