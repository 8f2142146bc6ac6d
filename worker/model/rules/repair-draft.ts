/** A request while it is mended: its messages in parts that remember where they came from and whether they changed. */
import type { Block } from '../block.ts';
import { hasLoneSurrogate, jsonOf } from '../json-text.ts';
import type { ContractFacts } from './contract.ts';
import { type Fields, isFields, MESSAGE_SHAPE, trimmed } from './contract-shapes.ts';
import type { Repair } from './repair.ts';

/** A block of a message. What is taken out stays in its place, since it is a change to all that comes after it. */
export interface Part {
  block: Block;
  /** The type that the block came with. */
  readonly was: string;
  readonly path: string;
  out: boolean;
  changed: boolean;
}

export interface DraftTurn {
  readonly role: 'user' | 'assistant';
  parts: Part[];
  readonly path: string;
  /** The message that this turn was read from, which is sent again when nothing in it changed. */
  readonly source?: unknown;
  /** Whether something was changed, or must have been, between the turn before and the first part of this one. */
  suspect: boolean;
}

/** One step of the repair. It is idempotent, and leaves alone what satisfies its rules. */
export type Mend = (draft: Draft, facts: ContractFacts) => void;

/** The words for a message or a result of which nothing is left. */
export const NOTHING_LEFT = '[nothing to show]';

export class Draft {
  turns: DraftTurn[] = [];
  /** Everything but the messages. */
  readonly top: Record<string, unknown>;
  /** Whether tools or system prompt changed, which stand before every message. */
  topChanged = false;
  readonly repairs: Repair[] = [];
  /** Whether all of the request has a form in JSON. */
  readonly isWritable: boolean;
  readonly isWellFormed: boolean;

  constructor(request: Fields) {
    const json = jsonOf(request);
    this.top = { ...request };
    this.isWritable = json !== undefined;
    this.isWellFormed = json !== undefined && !hasLoneSurrogate(json);
  }

  note(rule: number, path: string, what: Repair['what']): void {
    this.repairs.push({ rule, path, what });
  }

  takeOut(part: Part, rule: number, what: Repair['what']): void {
    part.out = true;
    part.changed = true;
    this.note(rule, part.path, what);
  }

  rewrite(part: Part, block: Block, rule: number, what: Repair['what']): void {
    part.block = block;
    part.changed = true;
    this.note(rule, part.path, what);
  }
}

/** A text block of ours. */
export function textBlock(text: string): Block {
  return { type: 'text', text };
}

/** A part that did not come with the request. */
export function addedPart(block: Block, path: string): Part {
  return { block, was: 'nothing', path, out: false, changed: true };
}

/** The parts of a turn that will be sent. */
export function liveParts(turn: DraftTurn | undefined): Part[] {
  return turn?.parts.filter(({ out }) => !out) ?? [];
}

/** Where the newest message of the user stands: it ends the request, or a paused answer follows it. */
export function newestUserTurn(draft: Draft): DraftTurn | undefined {
  return draft.turns.findLast(({ role }) => role === 'user');
}

/** The words that wait for an answer: the last text that the user's newest message came with. */
export function pendingPart(draft: Draft): Part | undefined {
  return liveParts(newestUserTurn(draft)).findLast(({ block, was }) => was === 'text' && block.type === 'text');
}

/**
 * Offers every block to `revise`, those inside tool results before the result itself, in the order of the request, and
 * puts what comes back in its place. Linear, however many blocks change. What comes back counts as a change to all that
 * comes after it, unless told otherwise.
 */
export function reviseBlocks(
  draft: Draft,
  revise: (block: Block, path: string, part: Part) => Block,
  as: 'change' | 'no change' = 'change',
): void {
  for (const part of draft.turns.flatMap(liveParts)) {
    const { content, type } = part.block;
    let { block } = part;
    if (type === 'tool_result' && Array.isArray(content)) {
      const revised = content.map((nested: Block, at) => revise(nested, `${part.path}.content.${at}`, part));
      if (revised.some((nested, at) => nested !== content[at])) block = { ...block, content: revised };
    }
    block = revise(block, part.path, part);
    if (block !== part.block && as === 'change') part.changed = true;
    part.block = block;
  }
}

/** The messages of a draft. One in which nothing changed is the one that came in. */
export function messagesOf(draft: Draft): unknown[] {
  return draft.turns.map((turn) => {
    const content = liveParts(turn).map(({ block }) => block);
    return isUnchanged(turn, content) ? turn.source : { role: turn.role, content };
  });
}

function isUnchanged({ role, source }: DraftTurn, content: readonly Block[]): boolean {
  if (!isFields(source) || source.role !== role || trimmed(source, MESSAGE_SHAPE) !== source) return false;
  const before = source.content;
  if (Array.isArray(before))
    return before.length === content.length && content.every((block, at) => block === before[at]);
  const [only] = content;
  return content.length === 1 && only?.type === 'text' && only.text === before && only.cache_control === undefined;
}
