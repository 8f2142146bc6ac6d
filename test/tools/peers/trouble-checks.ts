import assert from 'node:assert/strict';
import type { ReactionRule } from '../../stand-in/claude/reaction.ts';
import type { Check } from './check.ts';
import { type Exchange, freshChat, type Ground, operatorTold } from './ground.ts';
import { BANNED_WORD } from './litellm.ts';

const PARAGRAPH = 'The harbour lay still in the morning, and the boats turned slowly on their chains. '.repeat(80);

/** The longest output of a model of an older line. */
const SHORT_OUTPUT = 8_192;

/** No word of a provider, a proxy or a guardrail may reach a chat. */
function assertPlain({ shown }: Exchange): void {
  assert.doesNotMatch(shown.join('\n'), /litellm|anthropic|keyword|guardrail|error|\b4\d\d\b|\b5\d\d\b/i);
}

function assertAnswered(exchange: Exchange, expected: RegExp): void {
  assert.equal(exchange.outcome.outcome, 'answered');
  assert.match(exchange.shown.at(-1) ?? '', expected);
  assertPlain(exchange);
}

/** Does something to the next calls of the chats, then lets them be answered. */
function failing(times: number, reaction: ReturnType<ReactionRule>): ReactionRule {
  let left = times;
  return () => (left-- > 0 ? reaction : undefined);
}

async function recoversFrom(ground: Ground, status: number, type: string, message: string): Promise<string> {
  ground.play(failing(4, { do: 'error', status, type, message }));
  const exchange = await freshChat(ground).ask('Are you there?');
  assertAnswered(exchange, /You said: Are you there\?/);
  assert.equal(exchange.shown.length, 1);
  return `answered after ${exchange.calls.length} calls, ${exchange.outcome.attempts} attempts`;
}

/** What a chat must survive. */
export const TROUBLE_CHECKS: readonly Check[] = [
  {
    name: 'an overflow in the words of the proxy is recovered from, and the message is answered',
    async run(ground) {
      const chat = freshChat(ground);
      for (let turn = 1; turn <= 8; turn += 1) await chat.ask(`Part ${turn}. ${PARAGRAPH}`);
      const { claude } = ground.world;
      const before = claude.windowTokens;
      claude.windowTokens = Math.floor((claude.calls.at(-1)?.inputTokens ?? 0) * 0.8);
      try {
        const exchange = await chat.ask('And how does it end?');
        assertAnswered(exchange, /how does it end/);
        const seen = exchange.calls.map(({ kind, status }) => `${kind} ${status}`);
        assert.equal(seen[0], 'main 400');
        assert.ok(seen.includes('compaction 200') || exchange.events.includes('context.fresh-session'));
        assertAnswered(await chat.ask('Once more?'), /Once more/);
        return `${seen.join(', ')} (${exchange.events.join(', ')}); the next message is answered, too`;
      } finally {
        claude.windowTokens = before;
      }
    },
  },
  {
    name: 'a message that the guardrail refuses fails alone: the next one is answered, with the history',
    async run(ground) {
      const chat = freshChat(ground);
      await chat.ask('My boat is called Maria.');
      const refused = await chat.ask(`Pour ${BANNED_WORD} into it.`);
      assert.equal(refused.outcome.outcome, 'failed');
      assertPlain(refused);
      const next = await chat.ask('What is it called?');
      assertAnswered(next, /What is it called/);
      const history = JSON.stringify(next.calls.at(-1)?.body.messages);
      assert.match(history, /Maria/);
      assert.doesNotMatch(history, new RegExp(BANNED_WORD));
      return `told: "${refused.shown.at(-1)}"; the next one is answered after ${next.calls.length} call(s), knowing the boat`;
    },
  },
  {
    name: 'a history that the guardrail refuses costs one message: the next one is answered in a fresh session',
    async run(ground) {
      const chat = freshChat(ground);
      ground.play(failing(1, { do: 'answer', text: `It shines like ${BANNED_WORD}.` }));
      await chat.ask('Describe the sea.');
      // The summary of the history quotes the word, too, so the trial of a fresh session is refused as well.
      const refused = await chat.ask('And the sky?');
      assert.equal(refused.outcome.outcome, 'failed');
      assertPlain(refused);
      await operatorTold(ground, chat);
      const exchange = await chat.ask('Go on.');
      assertAnswered(exchange, /Go on/);
      assert.doesNotMatch(JSON.stringify(exchange.calls.at(-1)?.body.messages), new RegExp(BANNED_WORD));
      return `the first is told "${refused.shown.at(-1)}"; the second: ${exchange.events.join(', ')}`;
    },
  },
  {
    name: 'the proxy is killed in mid-stream and started again: the message is answered once',
    async run(ground) {
      const { proxy, world } = ground;
      ground.play(failing(1, { do: 'silent', text: 'This will never be'.repeat(5) }));
      const chat = freshChat(ground);
      const first = world.claude.calls.length;
      const asked = chat.ask('Are you still there?');
      await world.claude.waitForCall(({ index, status }) => index >= first && status === 200, 20_000);
      await proxy?.kill();
      await proxy?.start();
      const exchange = await asked;
      assertAnswered(exchange, /You said: Are you still there\?/);
      assert.equal(exchange.shown.length, 1);
      return `answered after ${exchange.calls.length} calls, ${exchange.outcome.attempts} attempts`;
    },
  },
  {
    name: 'a rate limit (429), as the proxy passes it on, is waited out',
    run: (ground) => recoversFrom(ground, 429, 'rate_limit_error', 'Number of requests has exceeded your rate limit'),
  },
  {
    name: 'an overload (529), as the proxy passes it on, is waited out',
    run: (ground) => recoversFrom(ground, 529, 'overloaded_error', 'Overloaded'),
  },
  {
    name: 'a model that gives less output than is asked for, and a proxy that does not say so: the message is answered',
    async run(ground) {
      ground.play(({ body }) => {
        const message = `max_tokens: ${body.max_tokens} > ${SHORT_OUTPUT}, which is the maximum allowed number of output tokens for ${body.model}`;
        const refusal = { do: 'error', status: 400, type: 'invalid_request_error', message } as const;
        return body.max_tokens > SHORT_OUTPUT ? refusal : undefined;
      });
      const exchange = await freshChat(ground).ask('How long may it be?');
      assertAnswered(exchange, /How long may it be/);
      return `answered after ${exchange.calls.length} calls (${exchange.events.join(', ')})`;
    },
  },
];
