import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { FencedError } from '../../../worker/lane/attempt.ts';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { ModelRequest } from '../../../worker/model/port.ts';
import {
  type Script,
  type ScriptedEndpoint,
  sendEnd,
  sendEvent,
  sendStart,
  sendWords,
  startEndpoint,
} from '../../fixture/scripted-endpoint.ts';

const PING_MS = 60;

let endpoint: ScriptedEndpoint | undefined;
afterEach(() => endpoint?.close());

async function ask(script: Script, { idleMs = 300, signal = new AbortController().signal, onText = () => {} } = {}) {
  endpoint = await startEndpoint(script);
  const messages = [{ role: 'user' as const, content: 'Hello there' }];
  const request: ModelRequest = { model: 'claude-opus-5-5', maxTokens: 100, system: '', messages, caches: false };
  const model = createClaude({ apiKey: 'k', baseURL: endpoint.url, idleMs, reach: () => {} });
  return model.send(request, signal, onText);
}

/** Sends a sign of life so many times, and then goes on. */
function ping(response: ServerResponse, times: number, then: () => void, send = () => sendEvent(response, 'ping')) {
  let sent = 0;
  const timer = setInterval(() => {
    send();
    sent += 1;
    if (sent < times) return;
    clearInterval(timer);
    then();
  }, PING_MS);
  response.once('close', () => clearInterval(timer));
}

test('pings before and after the start, and bytes that form no event, are signs of life', async () => {
  const result = await ask((response) =>
    ping(response, 8, () => {
      sendStart(response);
      ping(response, 8, () =>
        ping(
          response,
          8,
          () => {
            sendWords(response, 'thought about it');
            sendEnd(response);
          },
          () => response.write(': still here\n'),
        ),
      );
    }),
  );
  expect(result).toMatchObject({ ok: true, answer: { text: 'thought about it' } });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['before the headers', () => {}],
  ['after the headers', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()],
  ['after a ping', (response) => sendEvent(response, 'ping')],
  [
    'in the middle of an event',
    (response) => {
      sendStart(response);
      response.write('event: content_blo');
    },
  ],
])('silence %s ends the call and its connection', async (_when, begin) => {
  const closed = Promise.withResolvers<void>();
  const result = await ask((response) => {
    response.once('close', () => closed.resolve());
    begin(response);
  });
  expect(result).toMatchObject({ ok: false, failure: { kind: 'transient', reason: 'timeout' } });
  await closed.promise;
});

test('an abort ends the call and its connection while the stream pings', async () => {
  const closed = Promise.withResolvers<void>();
  const stop = new AbortController();
  const script: Script = (response) => {
    response.once('close', () => closed.resolve());
    sendStart(response);
    ping(response, 1_000, () => {});
    setTimeout(() => stop.abort(), PING_MS * 3);
  };
  expect(await ask(script, { signal: stop.signal })).toMatchObject({ ok: false, failure: { reason: 'aborted' } });
  await closed.promise;
});

test('what the reader of the text throws ends the call, and comes out as itself', async () => {
  const fenced = new FencedError();
  const onText = (): never => {
    throw fenced;
  };
  const script: Script = (response) => {
    sendStart(response);
    sendWords(response, 'Once');
  };
  await expect(ask(script, { onText })).rejects.toBe(fenced);
});

const OVERFLOW = 'prompt is too long: 210000 tokens > 200000 maximum';
const json = (response: ServerResponse, value: unknown) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

test.each<[string, Script, string, string]>([
  [
    'a login page',
    (r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><form>Sign in</form>'),
    'transient',
    'server_error',
  ],
  [
    'an empty body',
    (r) => void r.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
    'transient',
    'cut_stream',
  ],
  ['JSON that is null', (r) => json(r, null), 'transient', 'server_error'],
  ['a long JSON that is cut', (r) => json(r, { data: 'x'.repeat(100_000) }), 'transient', 'server_error'],
  ['an error with a status of 200', (r) => json(r, { error: { type: 'overloaded_error' } }), 'transient', 'overloaded'],
  ['an overflow with a status of 200', (r) => json(r, { error: { message: OVERFLOW } }), 'token', 'prompt_too_long'],
  ['a message, not streamed,', (r) => json(r, { content: [], message: OVERFLOW }), 'transient', 'server_error'],
  ['an answer of another API', (r) => json(r, { message: { message: OVERFLOW } }), 'transient', 'server_error'],
  ['a detail that says too little', (r) => json(r, { detail: 'Something' }), 'transient', 'server_error'],
  [
    'an error event',
    (r) => {
      sendStart(r);
      sendEvent(r, 'error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
      r.end();
    },
    'transient',
    'overloaded',
  ],
  [
    'an event that is not JSON',
    (r) => {
      sendStart(r);
      r.end('event: content_block_delta\ndata: {"type": oops\n\n');
    },
    'transient',
    'unknown',
  ],
])('%s is returned as a failure, and nothing is thrown', async (_what, script, kind, reason) => {
  expect(await ask(script, { idleMs: 5_000 })).toMatchObject({ ok: false, failure: { kind, reason } });
});
