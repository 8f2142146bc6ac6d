import { createHash } from 'node:crypto';
import { type Block, isServerSide, isThinking } from './request.ts';
import { canonical, extendFingerprint } from './segments.ts';
import { thoughtTokens } from './thought.ts';

/** Signatures made here begin with this mark, so that a forged or damaged one is told from a foreign one. */
const MARK = 'U3RhbmRJbg';
const COUNT_DIGITS = 8;
const SIGNATURE_UNITS_MIN = 64;
/** About four characters a token, encrypted and then written in base64. */
const UNITS_PER_TOKEN = 5;

/** A thinking block as the stand-in once wrote it. */
export interface IssuedThinking {
  readonly answer: number;
  readonly print: string;
  /** The fingerprint of all that stood before the block: what its signature is bound to. */
  readonly prefix: string;
}

const sealOf = (block: Block): string => String(block.type === 'thinking' ? block.signature : block.data);
const servedKey = ({ type, id, tool_use_id }: Block): string => `${type} ${id ?? tool_use_id}`;

/** What the rules ask about answers given earlier: their thinking, its prefix, their tool calls and server tools. */
export class AnswerMemory {
  readonly #thinking = new Map<string, IssuedThinking>();
  readonly #answerOfTool = new Map<string, number>();
  readonly #thinkingOfAnswer: string[][] = [];
  readonly #served = new Map<string, string>();

  /** Signs the thinking blocks of an answer and remembers it. `prefix` is the fingerprint of its whole request. */
  issue(content: readonly Block[], prefix: string): Block[] {
    const answer = this.#thinkingOfAnswer.length;
    let before = prefix;
    const signed = content.map((block) => {
      const written = block.type === 'thinking' && !block.signature ? sign(block, `${before}${answer}`) : block;
      const print = canonical(written);
      if (isThinking(written)) this.#thinking.set(sealOf(written), { answer, print, prefix: before });
      if (isServerSide(written)) this.#served.set(servedKey(written), print);
      before = extendFingerprint(before, 'assistant', written);
      return written;
    });
    const thinking = signed.filter(isThinking).map(canonical);
    if (thinking.length > 0)
      for (const { type, id } of signed) if (type === 'tool_use') this.#answerOfTool.set(String(id), answer);
    this.#thinkingOfAnswer.push(thinking);
    return signed;
  }

  /** The thinking block that this one claims to be, by its signature or sealed data. */
  issuedThinking(block: Block): IssuedThinking | undefined {
    return this.#thinking.get(sealOf(block));
  }

  /** Whether a thinking block claims to come from here, but is not as it was. */
  isAltered(block: Block): boolean {
    const issued = this.issuedThinking(block);
    return issued === undefined ? sealOf(block).startsWith(MARK) : issued.print !== canonical(block);
  }

  /** Whether a block of a server tool is one of ours, but not as it was. One that another server wrote cannot be judged. */
  isServedAltered(block: Block): boolean {
    const print = isServerSide(block) ? this.#served.get(servedKey(block)) : undefined;
    return print !== undefined && print !== canonical(block);
  }

  /** The answers that an assistant message holds, told by their thinking and by their tool calls. */
  answersIn(content: readonly Block[]): number[] {
    const found = content.map((block) =>
      isThinking(block) ? this.issuedThinking(block)?.answer : this.#answerOfTool.get(String(block.id)),
    );
    return [...new Set(found.filter((answer) => answer !== undefined))];
  }

  thinkingOf(answer: number): readonly string[] {
    return this.#thinkingOfAnswer[answer] ?? [];
  }
}

/**
 * Signs a thinking block. On the newer models the signature carries the whole thought, encrypted, also where the text of
 * the block is empty: so it grows with the thought, and what comes back with it is read, and counted, again.
 */
function sign(block: Block, place: string): Block {
  const { tokens: _counted, ...shown } = block as Block;
  const tokens = thoughtTokens(block) ?? 0;
  const letters = createHash('sha256')
    .update(place)
    .update(canonical(shown as Block))
    .digest('base64')
    .slice(0, -1);
  const seal = ''.padEnd(Math.max(SIGNATURE_UNITS_MIN, tokens * UNITS_PER_TOKEN), letters);
  return { ...(shown as Block), signature: `${MARK}${String(tokens).padStart(COUNT_DIGITS, '0')}${seal}` };
}

/** The tokens of the thought that a signature carries; 0 for one of another server. */
export function sealedTokens(signature: unknown): number {
  if (typeof signature !== 'string' || !signature.startsWith(MARK)) return 0;
  const tokens = Number(signature.slice(MARK.length, MARK.length + COUNT_DIGITS));
  return Number.isInteger(tokens) ? tokens : 0;
}
