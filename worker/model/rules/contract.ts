import type { Block } from '../block.ts';
import { REQUEST_BYTES_MAX } from '../body-size.ts';
import { hasLoneSurrogate, jsonOf } from '../json-text.ts';
import { checkBlocks, checkSystem, checkTools } from './contract-blocks.ts';
import { isMedia, judgeMedia } from './contract-media.ts';
import { checkPairs } from './contract-pairs.ts';
import {
  hasNeeded,
  isBlock,
  isBreakpoint,
  isFields,
  isServerSide,
  isThinking,
  MESSAGE_SHAPE,
  trimmed,
} from './contract-shapes.ts';
import { pathOf, type Turn, turnOf, visitBlocks } from './contract-turn.ts';

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
export interface ContractFacts {
  /** The model's own limit of `max_tokens`; unchecked when it is not known. */
  maxOutputTokens?: number;
  /** Whether the model binds its thinking to everything that stood before it. */
  bindsThinking: boolean;
  /** The largest body in bytes, 30 MB unless told otherwise: the API takes 32. */
  bodyBytesMax?: number;
  /** The context window, on which the number of pages of a PDF depends; a short one is assumed. */
  windowTokens?: number;
}

/** One rule of the contract that a request breaks. It holds nothing of what people or models wrote. */
export interface Breach {
  /** The number in the contract's table. */
  rule: number;
  /** Where, such as `messages.3.content.1`; empty for the request as a whole. */
  path: string;
  problem: string;
}

/** Notes one breach. */
export type Report = (rule: number, path: string, problem: string) => void;

export const MESSAGES_MAX = 100_000;
export const BREAKPOINTS_MAX = 4;
const UTF8_BYTES_PER_UNIT_MAX = 3;

/**
 * Every breach of the API contract that a request alone shows, 19 and 20 (which need a tokenizer) left out. Empty means
 * that the API takes the request. Thinking is judged by its seal and its place: whether something before it was edited
 * cannot be seen here, and `repairRequest` answers for its own edits. Pure, total, and linear in the request's size.
 */
export function findBreaches(request: WireRequest, facts: ContractFacts): Breach[] {
  const breaches: Breach[] = [];
  const report: Report = (rule, path, problem) => breaches.push({ rule, path, problem });
  const json = jsonOf(request);
  if (json === undefined || !isFields(request)) {
    report(17, '', 'the request cannot be written as a JSON object');
    return breaches;
  }
  const messages: readonly unknown[] = Array.isArray(request.messages) ? request.messages : [];
  const turns = messages.map(turnOf);
  checkTop(request, report);
  checkFrame(messages, turns, report);
  checkBlocks(turns, report);
  checkPairs(turns, report);
  checkThinkingEnds(turns, report);
  checkMedia(turns, facts, report);
  checkBreakpoints(request, turns, report);
  checkMaxTokens(request, facts, report);
  checkUnicode(json, request, turns, report);
  checkSize(json, facts, report);
  return breaches;
}

function checkTop(request: WireRequest, report: Report): void {
  if (typeof request.model !== 'string') report(25, 'model', 'the model is not named');
  if (!Array.isArray(request.messages)) report(1, 'messages', 'the messages are no list');
  checkTools(request.tools, report);
  checkSystem(request.system, report);
}

/** Rules 1 to 5, and the keys of a message. */
function checkFrame(messages: readonly unknown[], turns: readonly Turn[], report: Report): void {
  if (messages.length === 0) report(1, 'messages', 'there is no message');
  if (messages.length > MESSAGES_MAX) report(1, 'messages', `there are more than ${MESSAGES_MAX} messages`);
  for (const [at, message] of messages.entries()) checkMessage(message, at, report);
  for (const [at, { role }] of turns.entries()) {
    if (role !== 'user' && role !== 'assistant')
      report(2, `messages.${at}`, 'a role that is neither user nor assistant');
    else if (at === 0 && role !== 'user') report(2, 'messages.0', 'the first message is not the user’s');
    else if (at > 0 && role === turns[at - 1]?.role) report(3, `messages.${at}`, 'two messages of one role in a row');
  }
  const last = turns.at(-1);
  const end = last?.blocks.at(-1);
  if (last?.role !== 'assistant' || (end !== undefined && isServerSide(end))) return;
  report(4, `messages.${messages.length - 1}`, 'the last message is not the user’s');
}

function checkMessage(message: unknown, at: number, report: Report): void {
  const refuse = (rule: number, problem: string): void => report(rule, `messages.${at}`, problem);
  if (!isFields(message)) {
    refuse(25, 'a message is no object');
    return;
  }
  if (!hasNeeded(message, MESSAGE_SHAPE)) refuse(25, 'a message without role or content');
  if (trimmed(message, MESSAGE_SHAPE) !== message) refuse(25, 'a message with more than role and content');
  const { content } = message;
  if (typeof content !== 'string' && !Array.isArray(content)) refuse(25, 'content is neither text nor a list');
  else if (content.length === 0) refuse(5, 'a message without content');
}

/** Rule 15, as far as it can be seen: thinking leads to something, so it never ends a message. */
function checkThinkingEnds(turns: readonly Turn[], report: Report): void {
  for (const turn of turns) {
    const last = turn.blocks.at(-1);
    if (turn.role === 'assistant' && last && isThinking(last))
      report(15, pathOf(turn, turn.blocks.length - 1), 'thinking ends a message');
  }
}

function checkMedia(turns: readonly Turn[], facts: ContractFacts, report: Report): void {
  const media: Block[] = [];
  const paths: string[] = [];
  const look = (block: unknown, path: () => string): void => {
    if (!isBlock(block) || !isMedia(block)) return;
    media.push(block);
    paths.push(path());
  };
  visitBlocks(turns, look);
  for (const [at, fault] of judgeMedia(media, facts).entries())
    if (fault) report(fault.rule, paths[at] ?? '', fault.problem);
}

/** Rule 14: breakpoints count wherever they stand, on the request itself too. The oldest are the ones too many. */
function checkBreakpoints(request: WireRequest, turns: readonly Turn[], report: Report): void {
  const marked: string[] = [];
  const look = (holder: unknown, path: () => string): void => {
    if (isFields(holder) && isBreakpoint(holder.cache_control)) marked.push(path());
  };
  for (const key of ['tools', 'system'] as const) {
    const holders: unknown = request[key];
    if (Array.isArray(holders)) for (const [at, holder] of holders.entries()) look(holder, () => `${key}.${at}`);
  }
  visitBlocks(turns, look);
  look(request, () => '');
  for (const path of marked.slice(0, Math.max(0, marked.length - BREAKPOINTS_MAX)))
    report(14, path, `more than ${BREAKPOINTS_MAX} cache breakpoints`);
}

function checkMaxTokens({ max_tokens }: WireRequest, { maxOutputTokens }: ContractFacts, report: Report): void {
  if (!Number.isInteger(max_tokens) || max_tokens < 1) report(21, 'max_tokens', 'no whole number of at least 1');
  else if (max_tokens > (maxOutputTokens ?? Number.POSITIVE_INFINITY))
    report(21, 'max_tokens', 'more output than the model can give');
}

/** Rule 17. The whole is looked at first, since almost no request has such a thing; then its parts, to say where. */
function checkUnicode(json: string, request: WireRequest, turns: readonly Turn[], report: Report): void {
  if (!hasLoneSurrogate(json)) return;
  const look = (part: unknown, path: string): void => {
    if (hasLoneSurrogate(jsonOf(part) ?? '')) report(17, path, 'half of a surrogate pair');
  };
  const { messages, ...rest } = request;
  if (hasLoneSurrogate(jsonOf(rest) ?? ''))
    for (const [key, part] of Object.entries(rest)) look({ [key]: part }, key.toWellFormed());
  for (const turn of turns) for (const [at, block] of turn.blocks.entries()) look(block, pathOf(turn, at));
}

/** Rule 18. No character takes more than three bytes for each of its UTF-16 units, so most bodies need not be counted. */
function checkSize(json: string, { bodyBytesMax = REQUEST_BYTES_MAX }: ContractFacts, report: Report): void {
  if (json.length * UTF8_BYTES_PER_UNIT_MAX <= bodyBytesMax || Buffer.byteLength(json) <= bodyBytesMax) return;
  report(18, '', 'the request is larger than the API takes');
}
