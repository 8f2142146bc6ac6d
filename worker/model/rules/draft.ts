/** A request under repair: its messages in parts that remember where they came from and whether they changed. */
import type { Block } from '../block.ts';
import { bytesOf, jsonOf } from '../json-text.ts';
import { Renaming } from './renaming.ts';
import type { Repair } from './repair.ts';
import type { RequestFacts, RuleName } from './rules.ts';
import { type Fields, isBlock, isFields, MESSAGE_SHAPE, sameOr, trimmed } from './shapes.ts';

/** What was found, and what was done about it: nothing where there is no remedy. */
export interface Note {
  rule: RuleName;
  path: string;
  what?: Repair['what'];
  problem?: string;
}

/** A block of a message. What is taken out stays in its place, since it is a change to all that comes after it. */
export interface Part {
  block: Block;
  /** The block that came with the request; undefined for one of ours. */
  readonly came: Block | undefined;
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
  constructor(request: Fields, isLog = false) {
    // A log was read from JSON, so it has a form. Writing all of it down would cost more than the rest of the view.
    this.json = isLog ? '' : jsonOf(request);
    this.top = { ...request };
    this.isLog = isLog;
    const { messages, tools } = request;
    this.toolNames = new Renaming((Array.isArray(tools) ? tools.filter(isFields) : []).map(({ name }) => name));
    let suspect = false;
    for (const [at, message] of (Array.isArray(messages) ? messages : []).entries()) {
      if (isFields(message)) this.#read(message, `messages.${at}`, suspect);
      else this.note('known-shape', `messages.${at}`, 'dropped_message');
      suspect = !isFields(message);
    }
  }

  #read(source: Fields, path: string, suspect: boolean): void {
    const { content, role } = source;
    const isRole = role === 'user' || role === 'assistant';
    if (!isRole) this.note('user-first', path, 'well_formed');
    if (trimmed(source, MESSAGE_SHAPE) !== source) this.note('known-shape', path, 'well_formed');
    const parts = this.#readParts(content, `${path}.content`);
    this.turns.push({ role: isRole ? role : 'user', parts, path, source, suspect: suspect || !isRole });
  }

  #readParts(content: unknown, path: string): Part[] {
    if (content === '') return [];
    if (typeof content === 'string') return [partOf(textBlock(content), path)];
    if (!Array.isArray(content)) {
      this.note('known-shape', path, 'dropped_block');
      return [];
    }
    return content.map((block: unknown, at) => {
      const place = `${path}.${at}`;
      if (isBlock(block) && (this.json !== undefined || jsonOf(block) !== undefined)) return partOf(block, place);
      const part = addedPart(textBlock(''), place);
      this.takeOut(part, isBlock(block) ? 'unicode-whole' : 'known-shape', 'dropped_block');
      return part;
    });
  }

  note(rule: RuleName, path: string, what?: Repair['what'], problem?: string): void {
    this.notes.push({ rule, path, ...(what && { what }), ...(problem && { problem }) });
  }

  takeOut(part: Part, rule: RuleName, what: Repair['what']): void {
    part.out = true;
    part.changed = true;
    this.note(rule, part.path, what);
  }

  rewrite(part: Part, block: Block, rule: RuleName, what: Repair['what']): void {
    part.block = block;
    part.changed = true;
    this.note(rule, part.path, what);
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

/** A text block of ours. */
export function textBlock(text: string): Block {
  return { type: 'text', text };
}

function partOf(block: Block, path: string): Part {
  return { block, came: block, path, out: false, changed: false };
}

/** A part that did not come with the request. */
export function addedPart(block: Block, path: string): Part {
  return { block, came: undefined, path, out: false, changed: true };
}

/** The parts of a turn that will be sent. */
export function liveParts(turn: DraftTurn | undefined): Part[] {
  return turn?.parts.filter(({ out }) => !out) ?? [];
}

/** Where the newest message of the user stands: it ends the request, or a paused answer follows it. */
export function newestUserTurn({ turns }: Draft): DraftTurn | undefined {
  return turns.findLast(({ role }) => role === 'user');
}

/** The words that wait for an answer: the last text that the user's newest message came with. */
export function pendingPart(draft: Draft): Part | undefined {
  return liveParts(newestUserTurn(draft)).findLast(({ block, came }) => came?.type === 'text' && block.type === 'text');
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
      const revised = content.map((nested: unknown, at) =>
        isBlock(nested) ? revise(nested, `${part.path}.content.${at}`, part) : nested,
      );
      if (sameOr(content, revised) !== content) block = { ...block, content: revised };
    }
    block = revise(block, part.path, part);
    if (block !== part.block && as === 'change') part.changed = true;
    part.block = block;
  }
}

/** A turn as a message. */
export function messageOf(turn: DraftTurn): unknown {
  const { role, source } = turn;
  const content = liveParts(turn).map(({ block }) => block);
  return isUnchanged(turn, content) ? source : { role, content };
}

function isUnchanged({ role, source }: DraftTurn, content: readonly Block[]): boolean {
  if (!isFields(source) || source.role !== role || trimmed(source, MESSAGE_SHAPE) !== source) return false;
  const before = source.content;
  if (Array.isArray(before)) return sameOr(before, content) === before;
  const [only] = content;
  return content.length === 1 && only?.type === 'text' && only.text === before && only.cache_control === undefined;
}
