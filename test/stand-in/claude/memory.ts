import type { Block } from './request.ts';
import { isOurSeal, type SealedPlace, sealThinking } from './seal.ts';
import { canonical, extendFingerprint } from './segments.ts';
import { ServedBlocks } from './served.ts';
import { thoughtTokens } from './thought.ts';

/** A thinking block as the stand-in once wrote it. */
export interface IssuedThinking {
  readonly answer: number;
  readonly print: string;
  /** The fingerprint of all that stood before the block: what its signature is bound to. */
  readonly prefix: string;
}

/** Whether a block is one that thinks aloud, readable or not. */
export const isThinking = (block: Block): boolean => block.type === 'thinking' || block.type === 'redacted_thinking';

const keyOf = (block: Block): string => String(block.type === 'thinking' ? block.signature : block.data);

/**
 * What the model side remembers about its own answers, as far as the rules ask: which thinking blocks it wrote
 * and after which prefix, which answers paused, and which tool calls belong to which answer.
 */
export class AnswerMemory {
  readonly #thinking = new Map<string, IssuedThinking>();
  readonly #answerOfTool = new Map<string, number>();
  readonly #printsOfAnswer: string[][] = [];
  readonly #paused: string[][] = [];
  /** What the server's own tools wrote. */
  readonly served = new ServedBlocks();

  /** Signs the thinking blocks of an answer and remembers it. `prefix` is the fingerprint of its whole request. */
  issue(content: readonly Block[], prefix: string, stopReason: string): Block[] {
    const answer = this.#printsOfAnswer.length;
    const prints: string[] = [];
    let before = prefix;
    const signed = content.map((block) => {
      const written = block.type === 'thinking' && !block.signature ? sealed(block, { prefix: before, answer }) : block;
      if (isThinking(written)) {
        prints.push(canonical(written));
        this.#thinking.set(keyOf(written), { answer, print: canonical(written), prefix: before });
      }
      before = extendFingerprint(before, 'assistant', written);
      return written;
    });
    this.served.remember(signed);
    if (prints.length > 0) this.#rememberTools(signed, answer);
    if (stopReason === 'pause_turn') this.#paused.push(signed.map(canonical));
    this.#printsOfAnswer.push(prints);
    return signed;
  }

  #rememberTools(content: readonly Block[], answer: number): void {
    for (const block of content) if (block.type === 'tool_use') this.#answerOfTool.set(String(block.id), answer);
  }

  /** The thinking block that this one claims to be, by its signature or sealed data. */
  issuedThinking(block: Block): IssuedThinking | undefined {
    return this.#thinking.get(keyOf(block));
  }

  /** Whether a signature claims to come from here without being one of ours. */
  isForged(block: Block): boolean {
    return isOurSeal(keyOf(block)) && !this.#thinking.has(keyOf(block));
  }

  /** The answers that an assistant message holds, told by their thinking and by their tool calls. */
  answersIn(content: readonly Block[]): number[] {
    const found = content.map((block) =>
      isThinking(block) ? this.issuedThinking(block)?.answer : this.#answerOfTool.get(String(block.id)),
    );
    return [...new Set(found.filter((answer) => answer !== undefined))];
  }

  /** The thinking blocks of an answer, in the order in which it wrote them. */
  thinkingOf(answer: number): readonly string[] {
    return this.#printsOfAnswer[answer] ?? [];
  }

  /** Whether a message ends with the content of an answer that paused its turn. */
  endsPaused(content: readonly Block[]): boolean {
    const prints = content.map(canonical);
    return this.#paused.some(
      (paused) =>
        paused.length <= prints.length && paused.every((print, at) => print === prints.at(at - paused.length)),
    );
  }
}

function sealed(block: Block, place: SealedPlace): Block {
  const tokens = thoughtTokens(block) ?? 0;
  const { tokens: _counted, ...shown } = block;
  return { ...(shown as Block), signature: sealThinking(shown as Block, place, tokens) };
}
