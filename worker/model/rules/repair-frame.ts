/** Mends the frame of a request: its messages and their roles (rules 1 to 5), and what stands beside them. */

import { jsonOf } from '../json-text.ts';
import { type ContractFacts, MESSAGES_MAX } from './contract.ts';
import {
  type Fields,
  hasNeeded,
  isBlock,
  isFields,
  isOwnTool,
  isServerSide,
  MESSAGE_SHAPE,
  SYSTEM_SHAPES,
  TOOL_SHAPE,
  trimmed,
} from './contract-shapes.ts';
import type { Renaming } from './renaming.ts';
import { mendOurs } from './repair-blocks.ts';
import {
  addedPart,
  type Draft,
  type DraftTurn,
  liveParts,
  type Mend,
  NOTHING_LEFT,
  newestUserTurn,
  type Part,
  pendingPart,
  textBlock,
} from './repair-draft.ts';

const OUTPUT_TOKENS_DEFAULT = 4096;
const NO_BEGINNING = '[The beginning of this conversation is not shown here.]';
const GO_ON = '[Please go on.]';

/** Reads the messages into turns, without what is no message and no block. */
export function readTurns(draft: Draft): void {
  const messages: readonly unknown[] = Array.isArray(draft.top.messages) ? draft.top.messages : [];
  let suspect = false;
  for (const [at, message] of messages.entries()) {
    const path = `messages.${at}`;
    if (isFields(message)) {
      const { role } = message;
      const isRole = role === 'user' || role === 'assistant';
      if (!isRole) draft.note(2, path, 'well_formed');
      if (trimmed(message, MESSAGE_SHAPE) !== message) draft.note(25, path, 'well_formed');
      const parts = readParts(draft, message.content, `${path}.content`);
      draft.turns.push({ role: isRole ? role : 'user', parts, path, source: message, suspect: suspect || !isRole });
    } else draft.note(25, path, 'dropped_message');
    suspect = !isFields(message);
  }
}

function readParts(draft: Draft, content: unknown, path: string): Part[] {
  if (content === '') return [];
  if (typeof content === 'string')
    return [{ block: textBlock(content), was: 'text', path, out: false, changed: false }];
  if (!Array.isArray(content)) {
    draft.note(25, path, 'dropped_block');
    return [];
  }
  return content.map((block: unknown, at) => {
    const place = `${path}.${at}`;
    const isSound = isBlock(block) && (draft.isWritable || jsonOf(block) !== undefined);
    if (isSound) return { block, was: block.type, path: place, out: false, changed: false };
    const part = addedPart(textBlock(''), place);
    draft.takeOut(part, isBlock(block) ? 17 : 25, 'dropped_block');
    return part;
  });
}

/** Rule 3: neighbours of one role become one message, as the API itself would do it. */
export const mendNeighbours: Mend = (draft) => {
  const merged: DraftTurn[] = [];
  for (const turn of draft.turns) {
    const last = merged.at(-1);
    if (last?.role === turn.role) {
      for (const part of turn.parts) last.parts.push(part);
      last.suspect ||= turn.suspect;
      draft.note(3, turn.path, 'merged_roles');
    } else merged.push(turn);
  }
  draft.turns = merged;
};

/**
 * Rules 1, 2 and 4: the user begins and ends. An answer of which nothing is left is dropped at both ends, so that the
 * newest words of the user stay the last. Expects roles to alternate.
 */
export const mendEnds: Mend = (draft) => {
  const { turns } = draft;
  const isEmptyAnswer = (turn: DraftTurn | undefined): boolean =>
    turn?.role === 'assistant' && liveParts(turn).length === 0 && turns.length > 1;
  if (isEmptyAnswer(turns.at(-1))) draft.note(5, turns.pop()?.path ?? '', 'dropped_message');
  if (isEmptyAnswer(turns[0])) {
    draft.note(5, turns.shift()?.path ?? '', 'dropped_message');
    for (const turn of turns.slice(0, 1)) turn.suspect = true;
  }
  if (turns[0]?.role !== 'user') {
    const path = turns[0]?.path ?? 'messages';
    turns.unshift({ role: 'user', parts: [addedPart(textBlock(NO_BEGINNING), path)], path, suspect: true });
    draft.note(turns.length > 1 ? 2 : 1, path, 'placeholder');
  }
  endWithUser(draft);
  const excess = Math.max(0, turns.length - MESSAGES_MAX);
  dropOldest(draft, excess + (excess % 2), 1);
};

/** A turn that a server tool paused goes on by itself, unless it waits for a result of ours too. */
function endWithUser(draft: Draft): void {
  const last = draft.turns.at(-1);
  const parts = liveParts(last);
  const end = parts.at(-1);
  if (last === undefined || last.role === 'user') return;
  const waits = parts.some(({ block }) => block.type === 'tool_use');
  if (end !== undefined && isServerSide(end.block) && !waits) return;
  // The pairs put the results into this message, so that words of ours are only needed where nothing waits.
  const added = waits ? [] : [addedPart(textBlock(GO_ON), last.path)];
  if (!waits) draft.note(4, last.path, 'placeholder');
  draft.turns.push({ role: 'user', parts: added, path: last.path, suspect: true });
}

/** Drops so many of the oldest messages. What stood in front of the rest is gone, and the rest knows it. */
export function dropOldest(draft: Draft, count: number, rule: number): void {
  if (count <= 0) return;
  for (const { path } of draft.turns.slice(0, count)) draft.note(rule, path, 'dropped_message');
  draft.turns = draft.turns.slice(count);
  for (const turn of draft.turns.slice(0, 1)) turn.suspect = true;
}

/** Rule 5: a message of which nothing is left says so. */
export const mendEmpty: Mend = (draft) => {
  for (const turn of draft.turns) {
    if (liveParts(turn).length > 0) continue;
    turn.parts.push(addedPart(textBlock(NOTHING_LEFT), turn.path));
    draft.note(5, turn.path, 'placeholder');
  }
};

/** Words of ours for a picture or a file do not come between the user's last words and the end of the request. */
export const mendLastWords: Mend = (draft) => {
  const newest = newestUserTurn(draft);
  const pending = pendingPart(draft);
  if (newest === undefined || pending === undefined) return;
  const at = newest.parts.indexOf(pending);
  const behind = newest.parts.slice(at + 1);
  const isOurs = ({ block, out, was }: Part): boolean => !out && was !== 'text' && block.type === 'text';
  newest.parts = [
    ...newest.parts.slice(0, at),
    ...behind.filter(isOurs),
    pending,
    ...behind.filter((part) => !isOurs(part)),
  ];
};

/** Rule 21. A limit of less than one token is no wish that could be met, so the usual one stands. */
export const mendMaxTokens: Mend = (draft, { maxOutputTokens = Number.POSITIVE_INFINITY }: ContractFacts) => {
  const asked = draft.top.max_tokens;
  const isUsable = typeof asked === 'number' && Number.isFinite(asked) && asked >= 1;
  const given = Math.max(1, Math.min(isUsable ? Math.floor(asked) : OUTPUT_TOKENS_DEFAULT, maxOutputTokens));
  if (given === asked) return;
  draft.top.max_tokens = given;
  draft.note(21, 'max_tokens', 'lowered_output');
};

/** Rules 6 and 25 in the system prompt. */
export const mendSystem: Mend = (draft) => {
  const { system } = draft.top;
  if (system === undefined || typeof system === 'string') return;
  const mended = readBlocks(draft, system);
  if (Array.isArray(system) && mended.length === system.length && mended.every((block, at) => block === system[at]))
    return;
  draft.topChanged = true;
  if (mended.length > 0) draft.top.system = mended;
  else delete draft.top.system;
};

function readBlocks(draft: Draft, system: unknown): unknown[] {
  if (!Array.isArray(system)) {
    draft.note(25, 'system', 'dropped_block');
    return [];
  }
  return system.flatMap((block: unknown, at) => {
    if (isBlock(block)) return mendOurs(draft, block, SYSTEM_SHAPES, `system.${at}`) ?? [];
    draft.note(25, `system.${at}`, 'dropped_block');
    return [];
  });
}

/** Rules 13 and 25 in the list of tools. A tool has one name, here and in its calls. */
export function mendTools(draft: Draft, names: Renaming): void {
  const { tools, tool_choice } = draft.top;
  if (tools === undefined) return;
  if (!Array.isArray(tools)) draft.note(25, 'tools', 'dropped_block');
  const known = new Set<unknown>();
  const mended = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, at) => {
    const sound = isFields(tool) ? mendTool(draft, tool, names, `tools.${at}`) : undefined;
    const isSecond = sound?.name !== undefined && known.has(sound.name);
    if (sound === undefined || isSecond) draft.note(isSecond ? 13 : 25, `tools.${at}`, 'dropped_block');
    known.add(sound?.name);
    return sound === undefined || isSecond ? [] : [sound];
  });
  if (Array.isArray(tools) && mended.length === tools.length && mended.every((tool, at) => tool === tools[at])) return;
  draft.topChanged = true;
  if (Array.isArray(tools)) draft.top.tools = mended;
  else delete draft.top.tools;
  if (!isFields(tool_choice) || tool_choice.name === undefined) return;
  const name = names.nameOf(tool_choice.name);
  if (name !== tool_choice.name && known.has(name)) draft.top.tool_choice = { ...tool_choice, name };
}

function mendTool(draft: Draft, tool: Fields, names: Renaming, path: string): Fields {
  const isOwn = isOwnTool(tool);
  const valid = isOwn || tool.name !== undefined ? names.nameOf(tool.name) : undefined;
  let mended = valid === tool.name ? tool : { ...tool, name: valid };
  if (mended !== tool) draft.note(13, path, 'well_formed');
  if (!isOwn) return mended;
  const schema = isFields(mended.input_schema) ? mended.input_schema : {};
  const known = trimmed(mended, TOOL_SHAPE);
  if (known === mended && hasNeeded(known, TOOL_SHAPE) && schema.type === 'object') return mended;
  draft.note(25, path, 'well_formed');
  mended = schema.type === 'object' ? known : { ...known, input_schema: { ...schema, type: 'object' } };
  return mended;
}
