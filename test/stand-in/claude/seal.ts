/**
 * The signature of a thinking block. On the newer models it carries the whole thought, encrypted, also where the text
 * of the block is empty: so it grows with the thought, and what comes back with it is read, and counted, again.
 */
import { createHash } from 'node:crypto';
import type { Block } from './request.ts';
import { canonical } from './segments.ts';

/** Signatures made here begin with this mark, so that a forged or damaged one is told from a foreign one. */
const MARK = 'U3RhbmRJbg';
const COUNT_DIGITS = 8;
const UNITS_MIN = 64;
/** About four characters a token, encrypted and then written in base64. */
const UNITS_PER_TOKEN = 5;

/** Where a block was written: after which prefix, and in which answer. No two answers share a signature. */
export interface SealedPlace {
  readonly prefix: string;
  readonly answer: number;
}

/** Signs a thinking block whose thought, read or not, had so many tokens. */
export function sealThinking(block: Block, { prefix, answer }: SealedPlace, tokens: number): string {
  const digest = createHash('sha256').update(prefix).update(String(answer)).update(canonical(block)).digest('base64');
  const units = Math.max(UNITS_MIN, tokens * UNITS_PER_TOKEN);
  const letters = digest.replace(/=+$/, '');
  const body = letters.repeat(Math.ceil(units / letters.length)).slice(0, units);
  return `${MARK}${String(tokens).padStart(COUNT_DIGITS, '0')}${body}`;
}

/** Whether a signature claims to come from here. */
export function isOurSeal(signature: string): boolean {
  return signature.startsWith(MARK);
}

/** The tokens of the thought that a signature carries; 0 for one of another server. */
export function sealedTokens(signature: unknown): number {
  if (typeof signature !== 'string' || !isOurSeal(signature)) return 0;
  const tokens = Number(signature.slice(MARK.length, MARK.length + COUNT_DIGITS));
  return Number.isInteger(tokens) ? tokens : 0;
}
