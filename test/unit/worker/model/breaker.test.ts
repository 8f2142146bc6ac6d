import { expect, test } from '@jest/globals';
import type { FailureReason } from '../../../../shared/flow/failure.ts';
import { withBreaker } from '../../../../worker/model/breaker.ts';
import type { Model, ModelRequest, ModelResult } from '../../../../worker/model/port.ts';
import { scripted } from '../../../fixture/scripted-model.ts';

const TRIP = 8;
const BURST = 50;
const request = (model = 'm'): ModelRequest => ({ model, maxTokens: 1, system: '', messages: [], caches: false });

/** A model that fails for a reason, or answers; a clock that is moved by hand; and the breaker between them. */
function broken(reason: FailureReason | undefined) {
  const world = { reason, nowMs: 1_000_000, calls: 0, gate: undefined as Promise<void> | undefined };
  const answering = scripted('fine');
  const failing: Model = {
    ...answering,
    async send(asked, signal): Promise<ModelResult> {
      world.calls += 1;
      await world.gate;
      if (!world.reason) return answering.send(asked, signal);
      return { ok: false, failure: { kind: 'transient', reason: world.reason } };
    },
  };
  const now = () => world.nowMs;
  const model = withBreaker(
    failing,
    now,
    () => 1,
    () => {},
  );
  const send = (name?: string) => model.send(request(name), new AbortController().signal);
  const fail = async (times: number) => {
    for (let n = 0; n < times; n++) await send();
  };
  return { world, send, fail };
}

function reasonOf(result: ModelResult): FailureReason | undefined {
  return result.ok ? undefined : result.failure.reason;
}

test('seven failures and a success do not open the circuit', async () => {
  const { world, send, fail } = broken('server_error');
  await fail(TRIP - 1);
  world.reason = undefined;
  expect((await send()).ok).toBe(true);
  world.reason = 'server_error';
  await fail(TRIP - 1);
  expect(world.calls).toBe(2 * TRIP - 1);
});

test('a burst of failures pauses one model once: after the pause one call probes the endpoint, and the others stay paused until it returns', async () => {
  const { world, send } = broken('network');
  await Promise.all(Array.from({ length: BURST }, () => send()));
  // Another model is asked all the same.
  expect(reasonOf(await send('other'))).toBe('network');
  world.nowMs += 5_000;
  world.reason = undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  world.gate = promise;
  const probe = send();
  expect(reasonOf(await send())).toBe('paused');
  expect(world.calls).toBe(BURST + 2);
  resolve();
  expect((await probe).ok).toBe(true);
  expect((await send()).ok).toBe(true);
});

test('each failed probe doubles the pause, from 5 seconds up to a minute', async () => {
  const { world, send, fail } = broken('timeout');
  await fail(TRIP);
  for (const pauseMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    const before = world.calls;
    world.nowMs += pauseMs - 1;
    expect(reasonOf(await send())).toBe('paused');
    world.nowMs += 1;
    expect(reasonOf(await send())).toBe('timeout');
    expect(world.calls).toBe(before + 1);
  }
});

const OWN = ['prompt_too_long', 'structure', 'authentication', 'refused', 'media_rejected'] as const;

test.each(OWN)('a failure of the request or the account (%s) does not open the circuit', async (reason) => {
  const { send, fail } = broken(reason);
  await fail(3 * TRIP);
  expect(reasonOf(await send())).toBe(reason);
});

test('aborted calls neither count as failures nor reset the count', async () => {
  const { world, fail } = broken('overloaded');
  await fail(TRIP - 1);
  world.reason = 'aborted';
  await fail(20);
  world.reason = 'overloaded';
  await fail(1);
  const before = world.calls;
  await fail(1);
  expect(world.calls).toBe(before);
});

test('a probe that throws does not leave the circuit waiting: the next call probes', async () => {
  const { world, send, fail } = broken('overloaded');
  await fail(TRIP);
  world.nowMs += 5_000;
  world.gate = Promise.reject(new Error('a bug of ours'));
  await expect(send()).rejects.toThrow('a bug of ours');
  world.gate = undefined;
  world.reason = undefined;
  expect((await send()).ok).toBe(true);
});
