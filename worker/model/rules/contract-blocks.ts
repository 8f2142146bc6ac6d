/** Rules 6, 12, 13, 15, 16 and 25, as far as one block, one tool or the system prompt shows them. */

import type { Block } from '../block.ts';
import { isBlank } from '../block.ts';
import type { Report } from './contract.ts';
import { isMedia } from './contract-media.ts';
import {
  type Fields,
  hasNeeded,
  isBlock,
  isBreakpoint,
  isFields,
  isName,
  isOwnTool,
  isServerResult,
  isThinking,
  MODEL_ONLY,
  RESULT_SHAPES,
  type Shape,
  SOURCE_SHAPES,
  SYSTEM_SHAPES,
  TOOL_SHAPE,
  thinkingFault,
  trimmed,
  USER_ONLY,
  USER_SHAPES,
} from './contract-shapes.ts';
import { pathOf, type Turn } from './contract-turn.ts';

const NO_BLOCK = 'a block is no object that says its type';
const BLANK = 'a text is empty or only white space';

/** Judges every block of the messages by itself. The paths below are relative: only a breach has need of a whole one. */
export function checkBlocks(turns: readonly Turn[], report: Report): void {
  for (const turn of turns) {
    let at = 0;
    const refuse: Report = (rule, path, problem) => report(rule, `${pathOf(turn, at)}${path}`, problem);
    for (const block of turn.blocks) {
      if (block === undefined) refuse(25, '', NO_BLOCK);
      else checkBlock(block, turn.role, '', refuse);
      at += 1;
    }
  }
}

function checkBlock(block: Block, role: unknown, path: string, report: Report): void {
  const side = MODEL_ONLY.has(block.type) ? 'assistant' : USER_ONLY.has(block.type) ? 'user' : role;
  if (side !== role) report(12, path, `a block of this type can only be in messages of the ${side}`);
  if (side === 'assistant') checkModelBlock(block, path, report);
  else if (!isServerResult(block)) checkOurs(block, USER_SHAPES, path, report);
  if (block.type === 'tool_result') checkResult(block, path, report);
}

/** What the model sent goes back as it came, unknown types and keys included: only what makes it useless is a breach. */
function checkModelBlock(block: Block, path: string, report: Report): void {
  if (block.type === 'text') checkText(block, path, report);
  else if (block.type === 'tool_use') checkCall(block, path, report);
  const fault = isThinking(block) ? thinkingFault(block) : undefined;
  if (fault !== undefined) report(fault, path, 'thinking without a valid signature, or without a part of it');
  const { cache_control } = block;
  if (cache_control === undefined || (cache_control === null && !isThinking(block))) return;
  if (isThinking(block) || !isBreakpoint(cache_control)) report(25, path, 'a cache_control that cannot be here');
}

function checkCall({ id, input, name }: Block, path: string, report: Report): void {
  if (!isName(id)) report(13, path, 'the id of a call does not match the pattern');
  if (!isName(name)) report(13, path, 'the name in a call does not match the pattern');
  if (!isFields(input)) report(13, path, 'the input of a call is no object');
}

function checkText(block: Block, path: string, report: Report): void {
  if (typeof block.text !== 'string') report(25, path, 'a text block without text');
  else if (isBlank(block.text)) {
    report(6, path, BLANK);
    if (isBreakpoint(block.cache_control)) report(14, path, 'a cache breakpoint on an empty text');
  }
}

function checkResult({ content, tool_use_id }: Block, path: string, report: Report): void {
  if (!isName(tool_use_id)) report(13, path, 'the id in a result does not match the pattern');
  if (typeof content === 'string' && isBlank(content)) report(6, path, BLANK);
  if (Array.isArray(content)) checkOursIn(content, RESULT_SHAPES, `${path}.content`, report);
}

function checkOursIn(
  blocks: readonly unknown[],
  shapes: ReadonlyMap<string, Shape>,
  path: string,
  report: Report,
): void {
  for (const [at, block] of blocks.entries()) {
    if (isBlock(block)) checkOurs(block, shapes, `${path}.${at}`, report);
    else report(25, `${path}.${at}`, NO_BLOCK);
  }
}

/** A block that we wrote must be of a known shape, down to its source. */
function checkOurs(block: Block, shapes: ReadonlyMap<string, Shape>, path: string, report: Report): void {
  const shape = shapes.get(block.type);
  if (shape === undefined) report(25, path, 'a block of this type cannot be here');
  else checkShape(block, shape, path, report);
  if (block.type === 'text') checkText(block, path, report);
  if (isMedia(block)) checkSource(isFields(block.source) ? block.source : {}, path, report);
}

function checkSource(source: Fields, path: string, report: Report): void {
  const shape = SOURCE_SHAPES.get(source.type);
  if (shape === undefined) report(25, path, 'a source of an unknown type');
  else checkShape(source, shape, path, report);
}

function checkShape(object: Fields, shape: Shape, path: string, report: Report): void {
  if (!hasNeeded(object, shape)) report(25, path, 'a key that the API demands is missing or of the wrong kind');
  if (trimmed(object, shape) !== object) report(25, path, 'a key that the API does not take, or not with this value');
}

/** Judges the system prompt. */
export function checkSystem(system: unknown, report: Report): void {
  if (Array.isArray(system)) checkOursIn(system, SYSTEM_SHAPES, 'system', report);
  else if (system !== undefined && typeof system !== 'string')
    report(25, 'system', 'the system prompt is neither text nor a list of blocks');
}

/** Judges the list of tools. */
export function checkTools(tools: unknown, report: Report): void {
  if (!Array.isArray(tools)) {
    if (tools !== undefined) report(25, 'tools', 'the tools are no list');
    return;
  }
  const names = new Set<unknown>();
  for (const [at, tool] of tools.entries()) {
    if (isFields(tool)) checkTool(tool, names, `tools.${at}`, report);
    else report(25, `tools.${at}`, 'a tool is no object');
  }
}

function checkTool(tool: Fields, names: Set<unknown>, path: string, report: Report): void {
  const { input_schema, name } = tool;
  if (isOwnTool(tool)) {
    checkShape(tool, TOOL_SHAPE, path, report);
    const isObjectSchema = isFields(input_schema) && input_schema.type === 'object';
    if (!isObjectSchema) report(25, path, 'the input schema of a tool does not describe an object');
  }
  if (name === undefined) return;
  if (!isName(name)) report(13, path, 'the name of a tool does not match the pattern');
  if (names.has(name)) report(13, path, 'two tools of one name');
  names.add(name);
}
