/** The rules of the Messages API that a request alone shows: each with its name, and the fix that also finds it. */
import type { Block } from '../block.ts';
import { fixBlocks, fixUnicode } from './blocks.ts';
import { fixBreakpoints } from './breakpoints.ts';
import type { Fix } from './draft.ts';
import { fixEmpty, fixEnds, fixNeighbours } from './frame.ts';
import { fixMedia } from './media.ts';
import { fixPairs } from './pairs.ts';
import { fixServed } from './served.ts';
import { fixSize } from './size.ts';
import { fixThinking } from './thinking.ts';
import { fixTop } from './top.ts';

/** A request as it goes over the wire. It may hold anything: that is what is checked here. */
export interface WireRequest {
  model: string;
  max_tokens: number;
  system?: string | Block[];
  tools?: unknown[];
  output_config?: { effort: string };
  messages: { role: string; content: string | Block[] }[];
}

/** What a request is judged by, beyond itself. */
export interface RequestFacts {
  /** The model's own limit of `max_tokens`; unchecked when it is not known. */
  maxOutputTokens?: number;
  /** Whether the model binds its thinking to everything that stood before it. */
  bindsThinking: boolean;
  /** The largest body in bytes, 30 MB unless told otherwise: the API takes 32. */
  bodyBytesMax?: number;
  /** The context window, on which the number of pictures and of pages of a PDF depends; a short one is assumed. */
  windowTokens?: number;
}

export interface Rule {
  /** The number that the rule has in the contract's table, and in the stand-in. */
  readonly number: number;
  /** What a request must satisfy. */
  readonly demands: string;
  /** Finds what violates the rule, notes it, and heals it; rules that are seen together share one. */
  readonly fix: Fix;
}

/**
 * Every rule but 19 and 20, which need a tokenizer, and 29, which needs the original. The key is the rule's name in repairs, the
 * audit and the docs.
 */
export const RULES = {
  'messages-present': { number: 1, fix: fixEnds, demands: 'there are messages, 100,000 at most' },
  'user-first': { number: 2, fix: fixEnds, demands: 'roles are user and assistant, and the user begins' },
  'roles-alternate': { number: 3, fix: fixNeighbours, demands: 'no two messages of one role in a row' },
  'user-last': { number: 4, fix: fixEnds, demands: 'the user has the last word, unless a server tool paused' },
  'message-not-empty': { number: 5, fix: fixEmpty, demands: 'each message has content' },
  'text-not-blank': { number: 6, fix: fixBlocks, demands: 'no text is empty or only white space' },
  'tool-pairs': { number: 7, fix: fixPairs, demands: 'each call has its result in the next message' },
  'result-has-call': { number: 8, fix: fixPairs, demands: 'each result answers a call of the message before' },
  'one-result': { number: 9, fix: fixPairs, demands: 'each call has one result' },
  'call-id-unique': { number: 10, fix: fixPairs, demands: 'no two calls have one id' },
  'results-first': { number: 11, fix: fixPairs, demands: 'results stand before anything else in their message' },
  'block-side': { number: 12, fix: fixBlocks, demands: 'calls and thinking are the model’s, results the user’s' },
  'name-legal': { number: 13, fix: fixBlocks, demands: 'legal names and ids, tools of two names, inputs are objects' },
  'breakpoints-few': { number: 14, fix: fixBreakpoints, demands: 'four cache breakpoints at most, no blank one' },
  'thinking-leads': { number: 15, fix: fixThinking, demands: 'thinking never ends a message' },
  'thinking-sealed': { number: 16, fix: fixBlocks, demands: 'thinking is sealed, and stands where it was written' },
  'unicode-whole': { number: 17, fix: fixUnicode, demands: 'a JSON text without half a surrogate pair' },
  'body-size': { number: 18, fix: fixSize, demands: 'the body is smaller than 30 MB' },
  'output-tokens': { number: 21, fix: fixTop, demands: 'max_tokens is whole, and in the model’s range' },
  'media-readable': { number: 22, fix: fixMedia, demands: 'a picture is what it says, of a known kind, 5 MB at most' },
  'image-size': {
    number: 23,
    fix: fixMedia,
    demands: '8000 px a side, 2000 px among over 20 images, 100 images (600 in a long window)',
  },
  'pdf-pages': { number: 24, fix: fixMedia, demands: 'a PDF of 100 pages at most (600 in a long window), not locked' },
  'known-shape': { number: 25, fix: fixBlocks, demands: 'the keys and types that the API knows, and no others' },
  'error-in-words': { number: 26, fix: fixBlocks, demands: 'the result of a call that failed is text alone' },
  'server-pairs': {
    number: 27,
    fix: fixServed,
    demands: 'a server’s call has its result, unless it still waits for it',
  },
  'citations-given': { number: 28, fix: fixBlocks, demands: 'citations have the keys that the API takes' },
} as const satisfies Record<string, Rule>;

export type RuleName = keyof typeof RULES;
