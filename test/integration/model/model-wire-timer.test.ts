import { getEventListeners, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { openWire, type Wire } from '../../../worker/model/claude/wire.ts';
import { type ScriptedEndpoint, sendEvent, startEndpoint } from '../../fixture/scripted-endpoint.ts';

const IDLE_MS = 60_000;
const NOT_FAKED = ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask', 'performance'] as const;

let endpoint: ScriptedEndpoint;
let response: ServerResponse;

beforeEach(async () => {
  endpoint = await startEndpoint((opened) => {
    response = opened;
    sendEvent(opened, 'ping');
  });
  jest.useFakeTimers({ doNotFake: [...NOT_FAKED] });
});

afterEach(async () => {
  jest.useRealTimers();
  await endpoint.close();
});

/** Posts as the SDK does: the wire goes with the request. */
function post(wire: Wire): Promise<Response> {
  const request = { url: endpoint.url, method: 'POST', body: '{}', headers: new Headers(), signal: wire.signal };
  return Promise.resolve(wire.listen(request, ({ url, ...init }) => fetch(url, init), {} as never));
}

test('each chunk restarts the idle timer, and its end aborts the call', async () => {
  const wire = openWire(IDLE_MS, new AbortController().signal);
  const body = (await post(wire)).body?.getReader();
  for (let n = 0; n < 5; n++) {
    await body?.read();
    jest.advanceTimersByTime(IDLE_MS - 1);
    expect(wire.isSilent()).toBe(false);
    sendEvent(response, 'ping');
  }
  await body?.read();
  jest.advanceTimersByTime(IDLE_MS);
  expect(wire.isSilent()).toBe(true);
  await expect(body?.read()).rejects.toThrow();
  wire.close();
  expect(jest.getTimerCount()).toBe(0);
});

test('a chunk that comes after the end of the call starts no timer', async () => {
  const wire = openWire(IDLE_MS, new AbortController().signal);
  const body = (await post(wire)).body?.getReader();
  await body?.read();
  wire.close();
  sendEvent(response, 'ping');
  await body?.read();
  expect(jest.getTimerCount()).toBe(0);
});

test('cancelling the body closes the connection', async () => {
  const wire = openWire(IDLE_MS, new AbortController().signal);
  const taken = await post(wire);
  const closed = once(response, 'close');
  await taken.body?.cancel();
  await closed;
  wire.close();
});

test('the end of the caller aborts the call, and leaves nothing with a caller who lives on', async () => {
  const caller = new AbortController();
  const wire = openWire(IDLE_MS, caller.signal);
  const body = (await post(wire)).body?.getReader();
  await body?.read();
  caller.abort();
  await expect(body?.read()).rejects.toThrow();
  expect([wire.signal.aborted, wire.isSilent()]).toEqual([true, false]);
  wire.close();
  expect(openWire(IDLE_MS, caller.signal).signal.aborted).toBe(true);

  const living = new AbortController();
  openWire(IDLE_MS, living.signal).close();
  expect(getEventListeners(living.signal, 'abort')).toEqual([]);
});
