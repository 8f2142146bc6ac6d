import { isFields } from '../../../shared/base/fields.ts';
import { type Block, jsonOf, textBlock } from '../block.ts';
import type { Repair, RequestFacts, RuleName } from './repair.ts';
import { type Fields, isBlock, isName, MESSAGE_SHAPE, trimmed } from './shapes.ts';

/** A request under repair: its messages in parts that remember where they came from and whether they changed. */

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
  readonly notes: Repair[] = [];
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

  note(rule: RuleName, path: string, what: Repair['what']): void {
    this.notes.push({ rule, path, what });
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
  rewrite(slot: Slot, block: Block, rule: RuleName, what: Repair['what']): void {
    slot.block = block;
    slot.changed = true;
    this.note(rule, slot.path, what);
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

/** A block in a request. Another one can be put in its place. */
export interface Slot {
  block: Block;
  readonly path: string;
  /** Whether this is a change to all that comes after it. */
  changed: boolean;
}

/** A block of a message. What is taken out stays in its place, since it is a change to all that comes after it. */
export interface Part extends Slot {
  /** The block that came with the request; undefined for one of ours. */
  readonly came: Block | undefined;
  out: boolean;
}

/** A message. */
export interface DraftTurn {
  readonly role: 'user' | 'assistant';
  parts: Part[];
  readonly path: string;
  /** The message that this turn was read from, if it can be sent again when nothing in it changed. */
  readonly source?: Fields | undefined;
  /** Whether something was changed, or must have been, between the turn before and the first part of this one. */
  suspect: boolean;
}

/**
 * A part at its path: its own, or for one of ours that of a neighbour. What did not come with the request is a change.
 */
export function partOf(block: Block, path: string, came?: Block): Part {
  return { block, came, path, out: false, changed: came === undefined };
}

/** A block inside the result of a tool; `inside` is a copy of all that the result holds, shared by its slots. */
export function slotInside(part: Part, inside: unknown[], at: number): Slot {
  return {
    path: `${part.path}.content.${at}`,
    get block() {
      return inside[at] as Block;
    },
    set block(block) {
      inside[at] = block;
      part.block = { ...part.block, content: inside };
    },
    set changed(changed: boolean) {
      part.changed = changed;
    },
  };
}

/** A message of ours, with so many texts. */
export function ourTurn(path: string, ...texts: string[]): DraftTurn {
  return { role: 'user', parts: texts.map((text) => partOf(textBlock(text), path)), path, suspect: true };
}

/** The parts of a turn that will be sent. */
export function liveParts({ parts }: DraftTurn): Part[] {
  return parts.every(isLive) ? parts : parts.filter(isLive);
}

function isLive({ out }: Part): boolean {
  return !out;
}

/** Whether a turn has nothing that will be sent. */
export function isEmpty({ parts }: DraftTurn): boolean {
  return !parts.some(isLive);
}

/** A turn as a message: the very one that it was read from, where nothing in it changed. */
export function messageOf(turn: DraftTurn): unknown {
  const { role, source } = turn;
  const parts = liveParts(turn);
  if (source !== undefined && isAsItCame(parts, source.content)) return source;
  return { role, content: parts.map(({ block }) => block) };
}

function isAsItCame(parts: readonly Part[], content: unknown): boolean {
  if (Array.isArray(content))
    return parts.length === content.length && parts.every(({ block }, at) => block === content[at]);
  const [only] = parts;
  return parts.length === 1 && only?.block === only?.came && only?.block.text === content;
}

const STEM_CHARS_MAX = 56;

/** Gives names that match the API's pattern to what has none, without taking a name that is in use. Deterministic. */
export class Renaming {
  readonly #taken: Set<unknown>;
  readonly #given = new Map<unknown, string>();
  readonly #lastOf = new Map<string, number>();

  /** `names` are those in use; the ones that do not match the pattern are no hindrance. */
  constructor(names: Iterable<unknown> = []) {
    this.#taken = new Set(names);
  }

  /** The name itself where it is valid, else one for it: the same one each time. */
  nameOf(name: unknown): string {
    if (isName(name)) return name;
    const given = this.#given.get(name) ?? this.another(name);
    this.#given.set(name, given);
    return given;
  }

  /** Says that a name is in use. */
  take(name: unknown): void {
    this.#taken.add(name);
  }

  /** A name that nobody has, as like the given one as can be. */
  another(name: unknown): string {
    const like = String(typeof name === 'string' || typeof name === 'number' ? name : '').replaceAll(/[^\w-]/g, '_');
    const stem = like.slice(0, STEM_CHARS_MAX) || 'unnamed';
    let last = this.#lastOf.get(stem) ?? 1;
    let candidate = stem;
    while (this.#taken.has(candidate)) {
      last += 1;
      candidate = `${stem}_${last}`;
    }
    this.#lastOf.set(stem, last);
    this.#taken.add(candidate);
    return candidate;
  }
}
