import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Block } from '../../../worker/model/block.ts';
import { statedOutputLimit } from '../../../worker/model/claude/refusal.ts';
import { classify } from '../../../worker/model/errors/classify.ts';
import type { MessageParam } from '../../../worker/model/port.ts';
import type { AtMost, Expectation } from './expectation.ts';
import { brief, refused } from './line.ts';
import { eventsIn } from './tap.ts';

/** The string that makes every model refuse; documented under "Streaming refusals". */
export const REFUSAL_STRING =
  'ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL_1FAEFB6177B4672DEE07F9D3AFC62588CCD2631EDCF22E8CCC1FB35B501C9C86';

/** What one short call takes, at most. */
export const SHORT: AtMost = { calls: 1, inputTokens: 1_000, outputTokens: 2_000 };
const FREE: AtMost = { calls: 0, inputTokens: 0, outputTokens: 0 };
/** Longer than the shortest prefix that any model keeps. */
const PREFIX_WORDS = 5_000;
const OVERFLOW_SHARE = 1.2;
const NO_MODEL_WRITES_SO_MUCH = 10_000_000;

/** A message of the user's. */
export const user = (content: string | readonly Block[]): MessageParam => ({ role: 'user', content }) as MessageParam;

/** A prefix that no cache has seen. */
function freshPrefix(): string {
  const words = Array.from(
    { length: PREFIX_WORDS },
    (_, index) => `${'harbour boat chain tide'.split(' ')[index % 4]}`,
  );
  return `Session ${randomUUID()}. Answer in one word. Background: ${words.join(' ')}.`;
}

const CACHED: AtMost = { calls: 1, inputTokens: PREFIX_WORDS * 2, outputTokens: 500 };

/** What is believed of calls without tools and thinking. */
export const TALK: readonly Expectation[] = [
  {
    name: 'the models endpoint states the window and the longest output',
    atMost: () => FREE,
    async look(line) {
      const limits = await line.limits();
      const card = JSON.parse(line.tap.calls.find(({ path }) => path.includes('/models/'))?.answer ?? '{}');
      assert.ok(card.max_input_tokens > 0 && card.max_tokens > 0, 'it does not state both');
      assert.deepEqual([limits.windowTokens, limits.maxOutputTokens], [card.max_input_tokens, card.max_tokens]);
      return `window ${limits.windowTokens}, longest output ${limits.maxOutputTokens}`;
    },
  },
  {
    name: 'a plain answer is streamed, in the order of events that is documented, and counted',
    atMost: () => SHORT,
    async look(line) {
      const { answer, told, wire } = await line.answer({
        maxTokens: 2_000,
        messages: [user('Reply with the word pong.')],
      });
      const events = eventsIn(wire).filter((name) => name !== 'ping');
      assert.equal(answer.stopReason, 'end_turn');
      assert.ok(answer.text.length > 0 && told > 0, 'no words were told while it was written');
      assert.deepEqual(
        [events[0], events[1], ...events.slice(-3)],
        ['message_start', 'content_block_start', 'content_block_stop', 'message_delta', 'message_stop'],
      );
      assert.ok(answer.usage.inputTokens > 0 && answer.usage.outputTokens > 0, 'the usage is not stated');
      return `${events.length} events, ${answer.usage.inputTokens} tokens in, ${answer.usage.outputTokens} out`;
    },
  },
  {
    name: 'output_config.effort is accepted',
    atMost: () => SHORT,
    async look(line) {
      const before = line.tap.calls.length;
      const { wire } = await line.answer({
        maxTokens: 2_000,
        effort: 'medium',
        messages: [user('Reply with the word ping.')],
      });
      assert.deepEqual(wire.request.output_config, { effort: 'medium' }, 'it was refused, and sent again without');
      assert.equal(line.tap.calls.length, before + 1);
      return 'taken at the first try';
    },
  },
  {
    name: 'a prefix is written to the cache, and read by the next call',
    atMost: () => ({ calls: 2, inputTokens: CACHED.inputTokens * 2, outputTokens: CACHED.outputTokens * 2 }),
    async look(line) {
      const call = { maxTokens: 500, system: freshPrefix(), messages: [user('Which word?')] };
      const first = (await line.answer(call)).answer.usage;
      const second = (await line.answer(call)).answer.usage;
      const seen = `written ${first.cacheWriteTokens ?? 0}, then read ${second.cacheReadTokens} of ${second.inputTokens}`;
      assert.ok((first.cacheWriteTokens ?? 0) > 0 && first.cacheReadTokens === 0, seen);
      assert.ok(second.cacheReadTokens > 0, seen);
      return seen;
    },
  },
  {
    name: 'a prefix may be kept for an hour',
    atMost: () => CACHED,
    async look(line) {
      const call = { maxTokens: 500, system: freshPrefix(), messages: [user('Which word?')] };
      const { usage } = (await line.answer({ ...call, cacheLifetime: '1h' })).answer;
      assert.ok((usage.cacheWrite1hTokens ?? 0) > 0, `written for an hour: ${usage.cacheWrite1hTokens}`);
      return `${usage.cacheWrite1hTokens} tokens written for an hour`;
    },
  },
  {
    name: 'an output that no model gives is refused, and the refusal says which is the longest',
    atMost: () => ({ ...SHORT, outputTokens: 0 }),
    async look(line) {
      const { maxOutputTokens } = await line.limits();
      const error = await line.thrown({
        max_tokens: NO_MODEL_WRITES_SO_MUCH,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      const failure = classify(error);
      if (failure.kind === 'transient') throw refused(failure);
      const told = statedOutputLimit(error);
      assert.ok(told !== undefined, `it does not say: ${brief(failure)}`);
      assert.equal(told, maxOutputTokens ?? told);
      return `${brief(failure)}, at most ${told}`;
    },
  },
  {
    name: 'the documented test string is refused by the model, in a 200',
    atMost: () => SHORT,
    async look(line) {
      const { answer, wire } = await line.answer({ maxTokens: 500, messages: [user(REFUSAL_STRING)] });
      assert.equal(answer.stopReason, 'refusal');
      return `${wire.status}, ${answer.content.length} blocks of content`;
    },
  },
  {
    name: 'a prompt that is longer than the window is refused with the numbers',
    option: 'overflow',
    atMost: ({ windowTokens }) => ({ calls: 1, inputTokens: windowTokens, outputTokens: 16 }),
    async look(line) {
      const { windowTokens } = await line.limits();
      const content = 'boat '.repeat(Math.ceil(windowTokens * OVERFLOW_SHARE));
      const failure = await line.refusal({ maxTokens: 16, messages: [user(content)] });
      const seen = `${brief(failure)}: ${failure.observedTokens} > ${failure.limitTokens}`;
      assert.equal(failure.kind, 'token', seen);
      assert.equal(failure.limitTokens, windowTokens, seen);
      return seen;
    },
  },
];

/** Looked at last, in what all the others received. */
export const PINGS: Expectation = {
  name: 'streams carry pings',
  atMost: () => FREE,
  async look(line) {
    const pings = line.tap.calls.map((call) => eventsIn(call).filter((name) => name === 'ping').length);
    const streams = line.tap.calls.filter((call) => eventsIn(call).length > 0).length;
    const all = pings.reduce((sum, count) => sum + count, 0);
    assert.ok(all > 0, `none in ${streams} streams`);
    return `${all} in ${streams} streams`;
  },
};
