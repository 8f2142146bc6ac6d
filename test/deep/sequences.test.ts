import { expect, test } from '@jest/globals';
import { chatKey } from '../../shared/redis/keys.ts';
import type { Trigger } from '../../worker/recovery/policy.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { eachInWorld, start, world } from '../fixture/each-test.ts';
import { untilSettled } from '../fixture/ledger.ts';
import type { ClaudeCall, Reaction } from '../stand-in/claude/reaction.ts';
import { assistant, image, png, text, thinking, user } from '../stand-in/claude/specimens.ts';

const FIRST_CHAT = 1001;
const LENGTH = 3;
const PATIENCE_MS = 120_000;
const SIGNED = { signature: 'EuYBCkQYAiJA0123456789ABCDEFGH==' };

const badRequest = (message: string): Reaction => ({
  do: 'error',
  status: 400,
  type: 'invalid_request_error',
  message,
});
const FAILURES: Readonly<Record<Trigger, Reaction>> = {
  token: { do: 'overflow' },
  fit: badRequest(
    'input length and `max_tokens` exceed context limit: 197000 + 4096 > 200000, decrease input length or `max_tokens` and try again',
  ),
  wire: { do: 'error', status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' },
  media: badRequest('messages.0.content.1.image.source.base64.data: Could not process image'),
  poison: badRequest('messages.1.content.0: Invalid `signature` in `thinking` block'),
  unknown: badRequest('Invalid request data'),
  refusal: { do: 'answer', text: '', stopReason: 'refusal' },
  output: { do: 'answer', text: '', stopReason: 'max_tokens' },
};
const KINDS = Object.keys(FAILURES) as Trigger[];

eachInWorld({ claude: { bindThinking: false }, env: { TELEGRAM_ALLOWED_IDS: '*' } });

/** Every sequence of kinds of this length, in order. */
function sequences(length: number): Trigger[][] {
  if (length === 0) return [[]];
  return sequences(length - 1).flatMap((rest) => KINDS.map((kind) => [...rest, kind]));
}

/** A session in which each kind of failure finds something to do: a picture, thinking, a long text. */
function historyOf(chat: number): string[] {
  const turns = Array.from({ length: 12 }, (_, at) => [
    user(`turn ${at} ${'lorem ipsum '.repeat(40)}`),
    assistant('ok'),
  ]);
  const messages = [
    user(text(`chat-${chat}-history`), image(png(10, 10))),
    assistant(thinking('hm', SIGNED), text('seen')),
    user(text('x'.repeat(20_000))),
    assistant('read'),
    ...turns.flat(),
  ];
  return messages.map((message) => JSON.stringify(message));
}

/** Four different requests; the first refusal of each kind is asked once more, and that of an unknown kind twice. */
function callsMax(failures: readonly Trigger[]): number {
  return 4 + new Set(failures).size + (failures.includes('unknown') ? 1 : 0);
}

/** The chat that a call is about. */
function chatOf({ kind, pendingText, body }: ClaudeCall): number {
  if (kind === 'main') return Number(/^Question (\d+)\?$/.exec(pendingText)?.[1]);
  return Number(/chat-(\d+)-history/.exec(JSON.stringify(body))?.[1]);
}

test('after any sequence of 3 failures a message ends within its bound of calls, each with it exactly once and last', async () => {
  const all = [...sequences(LENGTH), ...KINDS.map((kind) => Array<Trigger>(LENGTH + 2).fill(kind))];
  for (const at of all.keys()) {
    const chat = FIRST_CHAT + at;
    await importSession(world.peek, world.keys, chatKey(chat), await parseLines(historyOf(chat)));
  }
  const calls = new Map<string, ClaudeCall[]>();
  const callsOf = (chat: number, kind: ClaudeCall['kind']) => calls.get(`${kind} ${chat}`) ?? [];
  world.claude.react((call) => {
    const chat = chatOf(call);
    const before = callsOf(chat, call.kind);
    calls.set(`${call.kind} ${chat}`, [...before, call]);
    const kind = call.kind === 'main' ? all[chat - FIRST_CHAT]?.[before.length] : undefined;
    return kind && FAILURES[kind];
  });
  await start();
  for (const at of all.keys()) world.telegram.say(FIRST_CHAT + at, `Question ${FIRST_CHAT + at}?`);
  const settled = await untilSettled(world, all.length, PATIENCE_MS);
  for (const [at, failures] of all.entries()) {
    const chat = FIRST_CHAT + at;
    const asked = callsOf(chat, 'main');
    const { outcome } = settled.find((record) => record.chat === String(chat)) ?? {};
    const isBounded = asked.length <= callsMax(failures) && callsOf(chat, 'compaction').length <= 2;
    const expected = failures.length < asked.length ? 'answered' : 'failed';
    expect({ failures, isBounded, outcome }).toEqual({ failures, isBounded: true, outcome: expected });
    for (const { body } of asked) {
      expect(JSON.stringify(body.messages).split(`Question ${chat}?`)).toHaveLength(2);
      expect(JSON.stringify(body.messages.at(-1))).toContain(`Question ${chat}?`);
    }
  }
  expect(settled).toHaveLength(all.length);
  expect(settled.filter(({ outcome }) => outcome === 'answered').length).toBeGreaterThan(all.length / 2);
  expect(world.claude.violations()).toEqual([]);
}, 150_000);
