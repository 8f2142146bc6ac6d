import { failSpan } from '../../shared/base/spans.ts';
import { METRIC, SPAN } from '../../shared/base/telemetry.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { Block } from '../model/block.ts';
import { type LoadedSession, withRecord } from '../session/held-window.ts';
import { type AssistantRecord, type LogRecord, newStamp } from '../session/record.ts';
import { append } from '../session/store.ts';
import { type Asking, askingOf, type DecidableRound, resultWithoutCall, type ToolUse } from './asking.ts';
import { resultBlock } from './result.ts';
import { type Toolbox, type ToolCall, type ToolOutput, type ToolSpec, toolError } from './toolbox.ts';

const NO_JSON =
  'The input of this call was not valid JSON, so the tool was not called. Make the call again, with a JSON object.';
const INTERRUPTED =
  'The call was interrupted, and nobody knows whether it took effect. Find that out before you make it again.';

/** The calls in the newest answer to this message, each id once; none if the log has their results already. Pure. */
function openCalls({ window }: LoadedSession, { entry }: Turn): readonly ToolUse[] {
  const last = window.records.findLast(({ t }) => t === 'user' || t === 'assistant');
  if (last?.t !== 'assistant' || last.entry !== entry) return [];
  return [...new Map(callsOf(last).map((call) => [call.id, call])).values()];
}

function callsOf({ content, unreadable }: AssistantRecord): ToolUse[] {
  return typeof content === 'string' ? [] : content.flatMap((block) => toolUse(block, unreadable));
}

/** After this many answers in a row without a readable call, a further answer would only cost money. */
const UNREADABLE_ANSWERS_MAX = 3;

/** Whether each of the newest `UNREADABLE_ANSWERS_MAX` answers to a message has calls, but none with a readable input. Pure. */
export function hasOnlyUnreadableCalls({ window }: LoadedSession, { entry }: Turn): boolean {
  const own = window.records.filter((record) => record.t === 'assistant').filter((record) => record.entry === entry);
  const newest = own.slice(-UNREADABLE_ANSWERS_MAX).map(callsOf);
  const areUnreadable = (calls: ToolUse[]) => calls.length > 0 && !calls.some(({ isReadable }) => isReadable);
  return newest.length === UNREADABLE_ANSWERS_MAX && newest.every(areUnreadable);
}

/** Tools whose results contain no text of strangers. */
const OWN: ReadonlySet<unknown> = new Set(['memory', 'reminders', 'send_file', 'ask_user']);

/**
 * Whether a tool result may have shown the model text of strangers while the model answered this message. True also if some of
 * the answers to this message are outside the window. Pure.
 */
function hasReadOthers({ window }: LoadedSession, { entry, rounds }: Turn): boolean {
  const answers = window.records.flatMap((record) =>
    record.t === 'assistant' && record.entry === entry ? [record.content] : [],
  );
  return (
    answers.length < rounds ||
    answers.some((content, at) => {
      // The calls of the newest answer have no results yet, except those of tools that the provider ran itself.
      const read = at === answers.length - 1 ? ['server_tool_use'] : ['server_tool_use', 'tool_use'];
      return typeof content !== 'string' && content.some(({ type, name }) => read.includes(type) && !OWN.has(name));
    })
  );
}

/** The question that a person must decide before the calls of a message go on; undefined if there is none. Pure. */
export function askingIn(turn: Turn<Env>, loadedSession: LoadedSession, round: number): Asking | undefined {
  const calls = openCalls(loadedSession, turn);
  return calls.length === 0 ? undefined : askingOf(roundOf(turn.env.tools, turn, calls, round));
}

/** A round of calls with its policy, in which grants do not cover calls on behalf of guests. */
function roundOf(tools: Toolbox, turn: Turn, calls: readonly ToolUse[], round: number): DecidableRound {
  const { toolGrants: grants } = turn;
  const policy = { specs: tools.specs(), grants, mayGrant: !turn.isOfGuest, nowMs: turn.nowMs() };
  return { calls, round, parking: turn.parking, policy };
}

/**
 * Makes the calls of one round concurrently, and records their results as one message. Returns the session unchanged if no call
 * is open. Stores each result as it arrives. After a crash, the next attempt keeps the stored results and makes only repeatable
 * calls again; any other call without a result gets an error that says that its outcome is unknown. Calls `onTools` with the
 * names of the tools, and with an empty list once all calls have ended; calls `onResult` after each call.
 *
 * Contract: throws `FencedError`, or an error of Redis, of the blob store or of a decoder that cannot be started. If a grant
 * has changed since the attempt began, makes no call and returns `undefined`. On abort, stores the results of finished calls
 * and returns `undefined`.
 */
export async function finishRound(
  turn: Turn<Env>,
  loadedSession: LoadedSession,
  { round, onTools, onResult }: { round: number; onTools: (names: readonly string[]) => void; onResult: () => void },
  signal: AbortSignal,
): Promise<LoadedSession | undefined> {
  const calls = openCalls(loadedSession, turn);
  if (calls.length === 0) return loadedSession;
  onTools(calls.map(({ name }) => name));
  const { keys, chat, toolGrants } = turn;
  const grantsHold = toolGrants.length === 0 ? [] : [chatState(keys, chat).expectGrants(toolGrants)];
  const written = await turn.write(`calls:${round}`, [], grantsHold);
  // The grants have changed since this attempt read them. The next attempt will read them again.
  if (written === 'unmet') return undefined;
  const currentRound = {
    calls,
    round,
    isBegun: written === 'repeated',
    hasReadOthers: hasReadOthers(loadedSession, turn),
  };
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const results = await Promise.all(
    calls.map((call) =>
      resultOf(turn, call, currentRound, either)
        .catch((error: unknown) => {
          failure.abort();
          throw error;
        })
        .finally(onResult),
    ),
  );
  onTools([]);
  const content = results.flatMap((result) => result ?? []);
  if (content.length < calls.length) return undefined;
  const record: LogRecord = { v: 1, t: 'user', ...newStamp(), content };
  const fields = calls.map(({ id }) => fieldOf(round, id));
  await turn.write(`results:${round}`, [...append(turn.keys, turn.session, [record]), turn.forgetContents(fields)]);
  turn.env.reach('results stored');
  return withRecord(loadedSession, record);
}

/** The round of calls that `finishRound` handles. `isBegun`: an earlier attempt may have made some of the calls. */
type CurrentRound = { calls: readonly ToolUse[]; round: number; isBegun: boolean; hasReadOthers: boolean };

/** The result of one call: stored by an earlier attempt, decided without a call, or new. Undefined if aborted. */
async function resultOf(
  turn: Turn<Env>,
  call: ToolUse,
  { calls, round, isBegun, hasReadOthers }: CurrentRound,
  signal: AbortSignal,
): Promise<Block | undefined> {
  const { env } = turn;
  const field = fieldOf(round, call.id);
  const stored = turn.content(field);
  if (stored !== undefined) return JSON.parse(stored) as Block;
  const output =
    resultWithoutCall(call, roundOf(env.tools, turn, calls, round)) ??
    (isBegun && call.isReadable && specOf(env.tools, call)?.repeatable !== true
      ? toolError(INTERRUPTED)
      : await make(turn, { ...call, id: field, turn, hasReadOthers }, signal));
  if (signal.aborted) return undefined;
  const { block, events } = await resultBlock(turn, call.id, output);
  await commit(turn, {
    step: '',
    changes: [turn.keepContent(field, JSON.stringify(block))],
    events,
  });
  env.reach('tool result stored');
  return block;
}

function make({ env }: Turn<Env>, call: ToolUse & ToolCall, signal: AbortSignal): Promise<ToolOutput> {
  // If no tool has this name, the model made the name up, and such text belongs neither in a span nor in a label.
  const tool = specOf(env.tools, call)?.name ?? 'unknown';
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.type': 'function',
  };
  return env.telemetry.span(`${SPAN.tool} ${tool}`, attributes, async (span) => {
    const output = call.isReadable ? await env.tools.call(call, signal) : toolError(NO_JSON);
    if (output.isError) failSpan(span, signal.aborted ? 'aborted' : 'tool_error');
    env.telemetry.count(METRIC.tools, { tool, result: output.isError ? 'error' : 'ok' });
    env.reach('tool called');
    return output;
  });
}

function specOf(tools: Toolbox, { name }: ToolUse): ToolSpec | undefined {
  return tools.specs().find((spec) => spec.name === name);
}

function fieldOf(round: number, id: string): string {
  return `result:${round}:${id}`;
}

function toolUse({ type, id, name, input }: Block, unreadable: readonly string[] = []): ToolUse[] {
  if (type !== 'tool_use' || typeof id !== 'string' || typeof name !== 'string') return [];
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  const isReadable = (isObject || input === undefined || input === null) && !unreadable.includes(id);
  return [{ id, name, input: isObject ? (input as ToolUse['input']) : {}, isReadable }];
}
