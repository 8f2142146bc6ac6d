/** A request under repair: its messages in parts that remember where they came from and whether they changed. */

import { isFields } from '../../../shared/base/fields.ts';
import { type Block, textBlock } from '../block.ts';
import { bytesOf, jsonOf } from '../json-text.ts';
import { Renaming } from './renaming.ts';
import type { Repair } from './repair.ts';
import type { RequestFacts, RuleName } from './rules.ts';
import { type Fields, isBlock, MESSAGE_SHAPE, trimmed } from './shapes.ts';
import { type DraftTurn, liveParts, messageOf, type Part, partOf, type Slot, slotInside } from './turn.ts';

/** What was found, and what was done about it: nothing where there is no remedy. */
export interface Note {
  rule: RuleName;
  path: string;
  what?: Repair['what'];
  problem?: string;
}

/** Finds what violates its rules, notes it, and heals it. Idempotent; it leaves alone what satisfies them. */
export type Fix = (draft: Draft, facts: RequestFacts) => void;

/** The words for a message or a result of which nothing is left. */
export const NOTHING_LEFT = '[nothing to show]';

export class Draft {
  turns: DraftTurn[] = [];
  /** Everything but the messages. */
  readonly top: Record<string, unknown>;
  /** Whether tools or system prompt changed, which stand before every message. */
  topChanged = false;
  readonly notes: Note[] = [];
  /** The request as it came; undefined when it has no form in JSON, and empty for a log. */
  readonly json: string | undefined;
  /** Whether media stand here as references, of which the API will never know. */
  readonly isLog: boolean;
  readonly toolNames: Renaming;

  /** Reads the messages into turns, without what is no message and no block. */
  constructor(request: Fields, { isLog = false } = {}) {
    // A log was read from JSON, so it has a form. Writing all of it down would cost more than the rest of the view.
    this.json = isLog ? '' : jsonOf(request);
    const { messages, ...top } = request;
    this.top = top;
    this.isLog = isLog;
    this.toolNames = new Renaming([top.tools].flat().map((tool) => isFields(tool) && tool.name));
    let suspect = false;
    for (const [at, message] of (Array.isArray(messages) ? messages : []).entries()) {
      if (isFields(message)) this.#read(message, `messages.${at}`, suspect);
      else this.drop(`messages.${at}`, 'dropped_message');
      suspect = !isFields(message);
    }
  }

  #read(message: Fields, path: string, suspect: boolean): void {
    const { content, role } = message;
    const isRole = role === 'user' || role === 'assistant';
    const isKnown = trimmed(message, MESSAGE_SHAPE) === message;
    if (!isRole) this.note('user-first', path, 'well_formed');
    if (!isKnown) this.note('known-shape', path, 'well_formed');
    const parts = this.#readParts(content, `${path}.content`);
    const source = isRole && isKnown ? message : undefined;
    this.turns.push({ role: isRole ? role : 'user', parts, path, source, suspect: suspect || !isRole });
  }

  #readParts(content: unknown, path: string): Part[] {
    if (content === '') return [];
    if (Array.isArray(content)) return content.map((block: unknown, at) => this.#readPart(block, `${path}.${at}`));
    if (typeof content === 'string') return [this.#readPart(textBlock(content), path)];
    this.drop(path);
    return [];
  }

  #readPart(block: unknown, path: string): Part {
    if (isBlock(block) && (this.json !== undefined || jsonOf(block) !== undefined)) return partOf(block, path, block);
    const part = partOf(textBlock(''), path);
    this.takeOut(part, isBlock(block) ? 'unicode-whole' : 'known-shape', 'dropped_block');
    return part;
  }

  note(rule: RuleName, path: string, what?: Repair['what'], problem?: string): void {
    this.notes.push({ rule, path, ...(what && { what }), ...(problem && { problem }) });
  }

  /** Notes that something is left out that is no part yet. */
  drop(path: string, what: Repair['what'] = 'dropped_block'): undefined {
    this.note('known-shape', path, what);
  }

  takeOut(part: Part, rule: RuleName, what: Repair['what']): void {
    part.out = true;
    part.changed = true;
    this.note(rule, part.path, what);
  }

  /** Puts another block in the place of one. Whatever comes after it comes after a change. */
  rewrite(slot: Slot, block: Block, rule: RuleName, what: Repair['what'], problem?: string): void {
    slot.block = block;
    slot.changed = true;
    this.note(rule, slot.path, what, problem);
  }

  /** The parts that will be sent, in their order. */
  liveParts(): Part[] {
    return this.turns.flatMap(liveParts);
  }

  /** The blocks that are wanted, in the order of the request; those inside a tool's result come before the result. */
  blocks(isWanted: (block: Block, part: Part) => boolean): Slot[] {
    const wanted: Slot[] = [];
    for (const part of this.liveParts()) {
      const { content, type } = part.block;
      const inside: unknown[] = type === 'tool_result' && Array.isArray(content) ? [...content] : [];
      for (const [at, block] of inside.entries())
        if (isBlock(block) && isWanted(block, part)) wanted.push(slotInside(part, inside, at));
      if (isWanted(part.block, part)) wanted.push(part);
    }
    return wanted;
  }

  /** The request as it is now. A message in which nothing changed is the one that came in. */
  written(): Fields {
    return { ...this.top, messages: this.turns.map(messageOf) };
  }

  /** The size of the request as it is now. */
  bytes(): number {
    return this.notes.length === 0 ? Buffer.byteLength(this.json ?? '') : bytesOf(this.written());
  }
}

/** Where the newest message of the user stands: it ends the request, or a paused answer follows it. */
export function newestUserTurn({ turns }: Draft): DraftTurn | undefined {
  return turns.findLast(({ role }) => role === 'user');
}

/** The words that wait for an answer: the last text that the user's newest message came with. */
export function pendingPart(draft: Draft): Part | undefined {
  return newestUserTurn(draft)?.parts.findLast(
    ({ block, came, out }) => !out && came?.type === 'text' && block.type === 'text',
  );
}
