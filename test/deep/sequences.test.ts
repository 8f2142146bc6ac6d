import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Failpoint } from '../../shared/base/failpoint.ts';
import { chatKey } from '../../shared/redis/keys.ts';
import type { FailureKind } from '../../worker/model/errors/failure.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { assistant, image, png, text, thinking, user } from '../fixture/content-blocks.ts';
import { eachInWorld, spawn, takeOver, world } from '../fixture/each-test.ts';
import { isProbe } from '../fixture/history.ts';
import { untilSettled } from '../fixture/ledger.ts';
import type { ClaudeCall, Reaction } from '../stand-in/claude/reaction.ts';

const FIRST_CHAT = 1001;
const SEQUENCES = 120;
const LENGTH_MAX = 8;
const PATIENCE_MS = 240_000;
const FAILED_CALLS_MAX = 6;
const EXCHANGES = 12;
const SIGNED = { signature: 'EuYBCkQYAiJA0123456789ABCDEFGH==' };

const INVALID = { do: 'error', status: 400, type: 'invalid_request_error' } as const;
const badRequest = (message: string): Reaction => ({ ...INVALID, message });

/** What a call may meet that costs a call of the message. */
const REFUSALS: Readonly<Record<Exclude<FailureKind, 'transient' | 'model'>, Reaction>> = {
  token: { do: 'overflow' },
  fit: badRequest(
    'input length and `max_tokens` exceed context limit: 197000 + 4096 > 200000, decrease input length or `max_tokens` and try again',
  ),
  wire: { do: 'error', status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' },
  media: badRequest('messages.0.content.1.image.source.base64.data: Could not process image'),
  poison: badRequest('messages.1.content.0: Invalid `signature` in `thinking` block'),
  unknown: badRequest('Invalid request data'),
  terminal: { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
  refusal: { do: 'answer', text: '', stopReason: 'refusal' },
  output: { do: 'answer', text: '', stopReason: 'max_tokens' },
};

/** What a call may meet that passes. */
const OUTAGES: Readonly<Record<string, Reaction>> = {
  overloaded: { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' },
  broken: { do: 'error', status: 500, type: 'api_error', message: 'Internal server error' },
  cut: { do: 'cut', text: 'Half an ans' },
  empty: { do: 'answer', text: ' ' },
};
const EVENTS: Readonly<Record<string, Reaction>> = { ...REFUSALS, ...OUTAGES };

/** The steps at which a process dies, one after the other: the rarest first, while most messages still wait. */
const KILLS: readonly `${Failpoint}:${number}`[] = [
  'compaction stored:1',
  'attempt begun:15',
  'model called:15',
  'moved to wait:5',
  'fresh session stored:2',
  'answer stored:3',
];

eachInWorld({ claude: { bindThinking: false }, env: { TELEGRAM_ALLOWED_IDS: '*' } });

/** A session in which each kind of failure finds something to do: a picture, thinking, a long text. */
function historyOf(chat: number): string[] {
  const turns = Array.from({ length: EXCHANGES }, (_, at) => [
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

/** The chat and the number of the message that a call is about. */
function questionOf({ pendingText }: ClaudeCall): [chat: number, nth: number] | undefined {
  const found = /^Question (\d+) of chat (\d+)\?$/.exec(pendingText);
  return found ? [Number(found[2]), Number(found[1])] : undefined;
}

/** The conversation is whole where the request shows all of its exchanges, verbatim. */
function isWhole({ body }: ClaudeCall): boolean {
  const sent = JSON.stringify(body.messages);
  return Array.from({ length: EXCHANGES }, (_, at) => at).every((at) => sent.includes(`turn ${at} lorem`));
}

/** How many refusals of the same kind a message met, at most. A small request that is called too large is only refused. */
function agreeing(met: readonly string[]): number {
  const refused = met.filter((event) => event in REFUSALS).map((event) => (event === 'wire' ? 'unknown' : event));
  return Math.max(0, ...refused.map((kind) => refused.filter((other) => other === kind).length));
}

test('after any sequence of up to 8 refusals, outages, empty and cut answers, with kills between them, each message has one outcome, and the second one is answered', async () => {
  const sequence = fc.array(fc.constantFrom(...Object.keys(EVENTS)), { minLength: 1, maxLength: LENGTH_MAX });
  const all = fc.sample(sequence, { numRuns: SEQUENCES, seed: 20_261_128 });
  const chats = all.map((_, at) => FIRST_CHAT + at);
  for (const chat of chats)
    await importSession(world.peek, world.keys, chatKey(chat), await parseLines(historyOf(chat)));
  const met = new Map<number, string[]>(chats.map((chat) => [chat, []]));
  const asked = new Map<string, ClaudeCall[]>();
  world.claude.react((call) => {
    const [chat, nth] = isProbe(call) || call.kind !== 'main' ? [] : (questionOf(call) ?? []);
    if (chat === undefined || nth === undefined) return undefined;
    asked.set(`${chat} ${nth}`, [...(asked.get(`${chat} ${nth}`) ?? []), call]);
    const before = met.get(chat) ?? [];
    const event = nth === 1 ? all[chat - FIRST_CHAT]?.[before.length] : undefined;
    if (event === undefined) return undefined;
    met.set(chat, [...before, event]);
    return EVENTS[event];
  });
  for (const chat of chats) world.telegram.say(chat, `Question 1 of chat ${chat}?`);
  for (const kill of KILLS) {
    const victim = await spawn({ SPILLWAY_FAIL_AT: kill });
    const allSettled = untilSettled(world, chats.length, PATIENCE_MS).then(() => 'lives, and every message is settled');
    expect([kill, await Promise.race([victim.ended, allSettled])]).toEqual([kill, 'SIGKILL']);
  }
  delete world.env.SPILLWAY_FAIL_AT;
  await takeOver();
  await untilSettled(world, chats.length, PATIENCE_MS);
  for (const chat of chats) world.telegram.say(chat, `Question 2 of chat ${chat}?`);
  const settled = await untilSettled(world, 2 * chats.length, PATIENCE_MS);
  expect(settled).toHaveLength(2 * chats.length);
  for (const [at, chat] of chats.entries()) {
    const outcomes = settled.filter((record) => record.chat === String(chat)).map(({ outcome }) => outcome);
    const calls = asked.get(`${chat} 1`) ?? [];
    const events = met.get(chat) ?? [];
    const passing = events.filter((event) => event in OUTAGES).length;
    const second = asked.get(`${chat} 2`)?.at(-1);
    expect({
      sequence: all[at],
      outcomes,
      // A call that a kill cut short is made again.
      isBounded: calls.length <= FAILED_CALLS_MAX + passing + KILLS.length,
      isWhole: agreeing(events) >= 2 || (second !== undefined && isWhole(second)),
    }).toEqual({
      sequence: all[at],
      outcomes: [expect.stringMatching(/^(?:answered|failed)$/), 'answered'],
      isBounded: true,
      isWhole: true,
    });
    for (const { body } of calls) {
      expect(JSON.stringify(body.messages).split(`Question 1 of chat ${chat}?`)).toHaveLength(2);
      expect(JSON.stringify(body.messages.at(-1))).toContain(`Question 1 of chat ${chat}?`);
    }
  }
  expect(settled.filter(({ outcome }) => outcome === 'answered').length).toBeGreaterThan(1.5 * chats.length);
  expect(world.claude.violations()).toEqual([]);
}, 600_000);
