import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import { rememberLimits } from '../../../worker/model/claude/endpoint.ts';
import type { ModelLimits } from '../../../worker/model/port.ts';
import { type Script, type ScriptedEndpoint, sendRefusal, startEndpoint } from '../../fixture/scripted-endpoint.ts';
import { sendJson } from '../../stand-in/loopback.ts';

const DAY_MS = 24 * 3600_000;

let endpoint: ScriptedEndpoint | undefined;
afterEach(() => endpoint?.close());

async function connect(models: Script, more: { statedWindow?: { model: string; tokens: number } } = {}) {
  endpoint = await startEndpoint(() => {}, models);
  const clock = { nowMs: 1_000 };
  const own = { apiKey: 'k', baseURL: endpoint.url, idleMs: 5_000, reach: () => {}, now: () => clock.nowMs };
  return { model: createClaude({ ...own, ...more }), asked: endpoint.asked, clock };
}

const states =
  (card: object): Script =>
  (response) =>
    sendJson(response, 200, { id: 'm', type: 'model', ...card });
const refuses =
  (status: number): Script =>
  (response) =>
    sendRefusal(response, status, 'some_error', 'no');

test('uses the limits that the endpoint states, and asks once for 20 callers at the same time', async () => {
  const { model, asked } = await connect(states({ max_input_tokens: 323_000, max_tokens: 9_000 }));
  const all = await Promise.all(Array.from({ length: 20 }, () => model.limits('claude-haiku-4-5')));
  for (const each of all) expect(each).toEqual({ windowTokens: 323_000, maxOutputTokens: 9_000 });
  await model.limits('claude-haiku-4-5');
  expect(asked).toHaveLength(1);
});

test.each([0, 1, 999, -5, 2.5, null, '200000', undefined])('ignores a stated window of %p', async (window) => {
  const { model } = await connect(states({ max_input_tokens: window, max_tokens: window === 1 ? 0 : window }));
  expect((await model.limits('claude-haiku-4-5')).windowTokens).toBe(200_000);
});

test.each<[string, Script, number]>([
  ['does not have this call', refuses(404), 1],
  ['answers 500', refuses(500), 2],
  ['answers 429', refuses(429), 2],
  ['answers 401', refuses(401), 2],
  ['answers with HTML', (r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<html>'), 1],
  ['answers with null', (r) => sendJson(r, 200, null), 1],
  ['closes the connection', (r) => void r.destroy(), 2],
])(
  'where the endpoint %s, the built-in table holds, and within two minutes it is asked again only after trouble',
  async (_what, script, times) => {
    const { model, asked, clock } = await connect(script);
    for (const waitMs of [0, 120_000]) {
      clock.nowMs += waitMs;
      expect(await model.limits('anthropic/claude-opus-5-5')).toEqual({ windowTokens: 1_000_000 });
    }
    expect(asked).toHaveLength(times);
    expect(await model.limits('llama')).toEqual({ windowTokens: 200_000 });
  },
);

test('a window that the operator states applies to one model and does not change its output limit', async () => {
  const statedWindow = { model: 'main', tokens: 50_000 };
  const { model } = await connect(states({ max_input_tokens: 90_000, max_tokens: 9_000 }), { statedWindow });
  expect(await model.limits('main')).toEqual({ windowTokens: 50_000, maxOutputTokens: 9_000 });
  expect(await model.limits('other')).toEqual({ windowTokens: 90_000, maxOutputTokens: 9_000 });
});

/** A memory over an endpoint that a test steers, and a clock that is moved by hand. */
function remembered(...answers: (Partial<ModelLimits> | 'trouble')[]) {
  const world = { nowMs: 1_000, asked: 0 };
  const read = async () => {
    const answer = answers[Math.min(world.asked++, answers.length - 1)] ?? 'trouble';
    if (answer === 'trouble') throw new Error('away');
    return answer;
  };
  return { world, memory: rememberLimits(read, undefined, () => world.nowMs) };
}

test('the limits are asked for again a minute after a failure and a day after an answer', async () => {
  const small = { windowTokens: 5_000 };
  const { world, memory } = remembered('trouble', small, small, { windowTokens: 6_000 });
  const ask = async () => (await memory.of('m')).windowTokens;
  expect(await ask()).toBe(200_000);
  world.nowMs += 59_000;
  expect([await ask(), world.asked]).toEqual([200_000, 1]);
  world.nowMs += 1_000;
  expect([await ask(), world.asked]).toEqual([5_000, 3]);
  world.nowMs += DAY_MS - 1;
  expect([await ask(), world.asked]).toEqual([5_000, 3]);
  world.nowMs += 1;
  expect([await ask(), world.asked]).toEqual([6_000, 4]);
});

test('known limits are kept while the endpoint is unavailable', async () => {
  const { world, memory } = remembered({ windowTokens: 500_000, maxOutputTokens: 7 }, 'trouble');
  await memory.of('m');
  world.nowMs += DAY_MS;
  for (const known of [await memory.of('m'), memory.cached('m')])
    expect(known).toEqual({ windowTokens: 500_000, maxOutputTokens: 7 });
  world.nowMs += 60_000;
  await memory.of('m');
  expect(world.asked).toBe(3);
});

test('one card with a smaller window costs nothing, and two that agree are believed', async () => {
  const one = remembered({ windowTokens: 8_192 }, { windowTokens: 200_000 });
  expect([(await one.memory.of('m')).windowTokens, one.world.asked]).toEqual([200_000, 2]);
  const away = remembered({ windowTokens: 8_192 }, 'trouble');
  expect((await away.memory.of('m')).windowTokens).toBe(200_000);
  const two = remembered({ windowTokens: 8_192 }, { windowTokens: 8_192 });
  expect([(await two.memory.of('m')).windowTokens, two.world.asked]).toEqual([8_192, 2]);
});
