import assert from 'node:assert/strict';
import type { Block } from '../../../worker/model/block.ts';
import { bindsThinking } from '../../../worker/model/catalog.ts';
import type { MessageParam } from '../../../worker/model/port.ts';
import type { ToolSpec } from '../../../worker/tools/toolbox.ts';
import type { AtMost, Expectation } from './expectation.ts';
import { brief, type Line } from './line.ts';
import { SHORT, user } from './talk-expectations.ts';

/** Hard enough to be thought about, short to answer. */
const RIDDLE =
  'How many integers from 1 to 1000 are divisible by 6 or by 10, but not by 15? Think it through, then answer with the number alone.';
const OTHER_RIDDLE = RIDDLE.replace('1000', '2000');
/** The only tool that may be called. */
export const LOOK: ToolSpec = {
  repeatable: true,
  name: 'look',
  description: 'Looks up what is known of a thing.',
  inputSchema: { type: 'object', properties: { thing: { type: 'string' } }, required: ['thing'] },
};
/** Takes what no draft of JSON Schema takes. */
const BROKEN: ToolSpec = {
  repeatable: true,
  name: 'measure_depth',
  description: 'Measures.',
  inputSchema: { type: 'object', properties: { depth: { type: 'number', minimum: 'low' } } },
};
export const ASKS_FOR_TOOL = 'Call the tool "look" with the thing "boat". Then tell me in one sentence what it says.';

/** An effort of its own might be a prefix of its own. */
const HARD = { maxTokens: 4_000, effort: 'medium' } as const;

const THOUGHTFUL: AtMost = { calls: 1, inputTokens: 6_000, outputTokens: 4_000 };

const isThinking = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking';
const without = (content: readonly Block[]): Block[] => content.filter((block) => !isThinking(block));
const assistant = (content: readonly Block[]): MessageParam =>
  ({ role: 'assistant', content }) as unknown as MessageParam;
const skip = (model: string): string | undefined =>
  bindsThinking(model) ? undefined : 'this model is not known to think by itself and to bind it';

/** Conversations that several expectations go on from: each is had once, by the first that needs it. */
const thoughts = new WeakMap<Line, Promise<readonly Block[]>>();
const rounds = new WeakMap<Line, Promise<readonly Block[]>>();

/** The answer to the riddle, with its thinking. */
function thoughtOn(line: Line): Promise<readonly Block[]> {
  const had = thoughts.get(line) ?? think(line);
  thoughts.set(line, had);
  return had;
}

async function think(line: Line): Promise<readonly Block[]> {
  const { answer } = await line.answer({ ...HARD, messages: [user(RIDDLE)] });
  assert.ok(answer.content.some(isThinking), `it did not think: ${answer.content.map(({ type }) => type).join(', ')}`);
  return answer.content;
}

/** The model's call of the tool, with what it thought before. */
function callOn(line: Line): Promise<readonly Block[]> {
  const had = rounds.get(line) ?? callTool(line);
  rounds.set(line, had);
  return had;
}

async function callTool(line: Line): Promise<readonly Block[]> {
  const { answer } = await line.answer({ maxTokens: 4_000, tools: [LOOK], messages: [user(ASKS_FOR_TOOL)] });
  assert.equal(answer.stopReason, 'tool_use');
  return answer.content;
}

function resultFor(content: readonly Block[]): MessageParam {
  const calls = content.filter(({ type }) => type === 'tool_use');
  return user(calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'The boat is blue.' })));
}

/** What is believed of thinking and tools. */
export const TURNS: readonly Expectation[] = [
  {
    name: 'thinking comes signed, and goes back word for word in the next turn',
    atMost: () => ({ calls: 2, inputTokens: 6_000, outputTokens: 8_000 }),
    skip,
    async look(line) {
      const content = await thoughtOn(line);
      const [thought] = content.filter(isThinking);
      const sealed = String(thought?.signature ?? thought?.data ?? '');
      assert.ok(sealed.length > 0, 'it is not signed');
      const messages = [user(RIDDLE), assistant(content), user('Add one to it. Answer with the number alone.')];
      const { answer } = await line.answer({ ...HARD, messages });
      return `${thought?.type}, ${String(thought?.thinking ?? '').length} characters of text, signature of ${sealed.length}; then ${answer.stopReason}`;
    },
  },
  {
    name: 'all thinking of earlier turns may be left out',
    atMost: () => THOUGHTFUL,
    skip,
    async look(line) {
      const content = without(await thoughtOn(line));
      const messages = [user(RIDDLE), assistant(content), user('Add two to it. Answer with the number alone.')];
      const { answer } = await line.answer({ ...HARD, messages });
      return `accepted, ${answer.stopReason}`;
    },
  },
  {
    name: 'thinking behind an edited message is refused, and taken for what it is',
    atMost: () => THOUGHTFUL,
    skip,
    async look(line) {
      const content = await thoughtOn(line);
      const messages = [user(OTHER_RIDDLE), assistant(content), user('Add one to it.')];
      const failure = await line.refusal({ ...HARD, messages });
      assert.deepEqual([failure.kind, failure.reason], ['poison', 'thinking_signature'], brief(failure));
      return brief(failure);
    },
  },
  {
    name: 'a tool is called, and its result leads to an answer',
    atMost: () => ({ calls: 2, inputTokens: 8_000, outputTokens: 8_000 }),
    async look(line) {
      const content = await callOn(line);
      const [call] = content.filter(({ type }) => type === 'tool_use');
      assert.equal(call?.name, LOOK.name);
      const messages = [user(ASKS_FOR_TOOL), assistant(content), resultFor(content)];
      const { answer } = await line.answer({ maxTokens: 4_000, tools: [LOOK], messages });
      assert.equal(answer.stopReason, 'end_turn');
      return `${content.map(({ type }) => type).join(', ')}; then ${answer.content.map(({ type }) => type).join(', ')}`;
    },
  },
  {
    name: 'the thinking of the latest message of a round of tools may be left out, all of it',
    atMost: () => THOUGHTFUL,
    skip,
    async look(line) {
      const content = await callOn(line);
      const messages = [user(ASKS_FOR_TOOL), assistant(without(content)), resultFor(content)];
      const { answer } = await line.answer({ maxTokens: 4_000, tools: [LOOK], messages });
      const dropped = content.length - without(content).length;
      return `accepted without ${dropped} block(s) of thinking, ${answer.stopReason}`;
    },
  },
  {
    name: 'a tool whose schema is broken is refused, and the error says which',
    atMost: () => SHORT,
    async look(line) {
      const failure = await line.refusal({
        maxTokens: 500,
        tools: [LOOK, BROKEN],
        messages: [user('Hello')],
      });
      const seen = `${brief(failure)}, named: ${failure.tool}`;
      assert.equal(failure.tool, BROKEN.name, seen);
      return seen;
    },
  },
];
