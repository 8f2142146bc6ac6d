import assert from 'node:assert/strict';
import { blocksOf } from '../../stand-in/claude/request.ts';
import type { Check } from './check.ts';
import { freshChat, IDLE_MS, MODEL, violationsIn } from './ground.ts';

const LONG = Array.from({ length: 120 }, (_, index) => `Sentence ${index + 1} of the answer.`).join(' ');
const DRAFT = 'sendMessageDraft';

/** What a chat without tools needs. */
export const CHAT_CHECKS: readonly Check[] = [
  {
    name: 'the models endpoint says how large the window is',
    async run({ model }) {
      const limits = await model.limits(MODEL);
      assert.equal(limits.windowTokens, 1_000_000);
      return `window ${limits.windowTokens}, longest output ${limits.maxOutputTokens ?? 'not stated'}`;
    },
  },
  {
    name: 'an answer is streamed: it can be read along, and arrives whole',
    async run(ground) {
      ground.play(() => ({ do: 'answer', text: LONG }));
      const chat = freshChat(ground);
      const { outcome, calls, shown } = await chat.ask('Write a long text.');
      assert.equal(outcome.outcome, 'answered');
      assert.deepEqual(shown, [LONG]);
      assert.equal(calls.length, 1);
      assert.equal(calls[0]?.body.stream, true);
      const drafts = ground.world.telegram.calls.filter(
        ({ method, params }) => method === DRAFT && params.chat_id === chat.id,
      );
      const words = drafts.map(({ params }) => String(params.text));
      assert.ok(
        words.some((text) => text.length < LONG.length && LONG.startsWith(text)),
        'no part of it was shown before its end',
      );
      return `${LONG.length} characters, ${drafts.length} drafts on the way`;
    },
  },
  {
    name: 'a conversation reaches the model as it was, cache marks included',
    async run(ground) {
      const chat = freshChat(ground);
      await chat.ask('My boat is called Maria.');
      const exchange = await chat.ask('What is it called?');
      const [call] = exchange.calls;
      assert.deepEqual(
        call?.body.messages.map(({ role }) => role),
        ['user', 'assistant', 'user'],
      );
      assert.match(JSON.stringify(call?.body.messages[0]), /Maria/);
      const marks = JSON.stringify(call?.body).match(/"cache_control"/g)?.length ?? 0;
      assert.ok(marks > 0, 'the marks of the cache were lost on the way');
      assert.deepEqual(violationsIn(exchange), []);
      return `3 messages, ${marks} cache marks`;
    },
  },
  {
    name: 'what the model thought comes back as it was, and the prefix is read from the cache',
    async run(ground) {
      const chat = freshChat(ground);
      await chat.ask(`Remember this. ${LONG}`);
      const exchange = await chat.ask('What was it?');
      const [call] = exchange.calls;
      const answer = blocksOf(call?.body.messages[1]?.content ?? []);
      assert.deepEqual(
        answer.map(({ type }) => type),
        ['thinking', 'text'],
      );
      assert.deepEqual(violationsIn(exchange), []);
      const { cache_read_input_tokens: read = 0 } = call?.usage ?? {};
      assert.ok(read > 0, 'nothing was read from the cache');
      return `signature of ${String(answer[0]?.signature).length} characters, ${read} tokens read from the cache`;
    },
  },
  {
    name: 'a long thought that sends nothing but pings is not taken for silence',
    async run(ground) {
      const forMs = IDLE_MS * 1.5;
      ground.play(() => ({ do: 'answer', text: 'It is deep.', pondering: { forMs, everyMs: 500 } }));
      const { outcome, calls, shown } = await freshChat(ground).ask('How deep is the sea?');
      assert.equal(outcome.outcome, 'answered');
      assert.deepEqual(shown, ['It is deep.']);
      assert.equal(calls.length, 1);
      return `${forMs / 1_000} seconds of pings, where ${IDLE_MS / 1_000} seconds of silence end a call`;
    },
  },
];
