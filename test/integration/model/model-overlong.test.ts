import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { FencedError } from '../../../worker/lane/attempt.ts';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import {
  type Script,
  type ScriptedEndpoint,
  sendEnd,
  sendEvent,
  sendStart,
  sendWords,
  startEndpoint,
} from '../../fixture/scripted-endpoint.ts';

const MAX_TOKENS = 100;
const CHARS_MAX = MAX_TOKENS * 16 + 4_096;
const BYTES_MAX = MAX_TOKENS * 512 + 16 * 1024 * 1024;
/** What stands in the buffers of both sides when one of them stops. */
const BUFFERED_BYTES = 8 * 1024 * 1024;

let endpoint: ScriptedEndpoint | undefined;

afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});

eachInWorld();

async function ask(script: Script, onText?: (text: string) => void) {
  endpoint = await startEndpoint(script);
  const model = createClaude({ apiKey: 'k', baseURL: endpoint.url, idleMs: 5_000, reach: () => {} });
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const request = { model: 'm', maxTokens: MAX_TOKENS, system: '', messages, caches: false };
  return model.send(request, new AbortController().signal, onText);
}

/** Writes without end, as fast as it is read; resolves with the bytes that it got rid of when its reader has gone. */
function writeForEver(response: ServerResponse, event: () => void): Promise<number> {
  const gone = Promise.withResolvers<number>();
  response.once('close', () => gone.resolve(response.socket?.bytesWritten ?? sent));
  let sent = 0;
  const go = (): void => {
    while (!response.destroyed && !response.writableNeedDrain) event();
    sent = response.socket?.bytesWritten ?? sent;
    if (!response.destroyed) response.once('drain', go);
  };
  go();
  return gone.promise;
}

function sendDelta(response: ServerResponse, delta: object): void {
  sendEvent(response, 'content_block_delta', { index: 0, delta });
}

test('an answer that goes on beyond max_tokens ends there, as one that was cut, and is billed as what came', async () => {
  let written: Promise<number> | undefined;
  const result = await ask((response) => {
    sendStart(response);
    sendWords(response, 'Once');
    written = writeForEver(response, () => sendDelta(response, { type: 'text_delta', text: ' upon a time' }));
  });
  if (!result.ok) throw new Error(result.failure.reason);
  const { text, stopReason, usage, content } = result.answer;
  expect(stopReason).toBe('max_tokens');
  expect(text).toMatch(/^Once upon a time upon/);
  expect(text.length).toBeLessThanOrEqual(CHARS_MAX);
  expect(content).toEqual([{ type: 'text', text }]);
  expect(usage.outputTokens).toBeLessThan(CHARS_MAX);
  expect(await written).toBeLessThan(BUFFERED_BYTES);
});

test('one event that holds more than an answer may have is cut to what one may have', async () => {
  const result = await ask((response) => {
    sendStart(response);
    sendWords(response, 'word '.repeat(1_000_000));
    sendEnd(response);
  });
  expect(result).toMatchObject({ ok: true, answer: { stopReason: 'max_tokens' } });
  expect(result.ok && result.answer.text.length).toBeLessThanOrEqual(CHARS_MAX);
});

test.each<[string, object]>([
  ['thinking', { type: 'thinking_delta', thinking: 'hm ' }],
  ['what no answer is made of', { type: 'signature_delta', signature: 'A'.repeat(200) }],
])('%s without end is cut as well, and leaves nothing in the answer', async (_, delta) => {
  let written: Promise<number> | undefined;
  const result = await ask((response) => {
    sendStart(response);
    sendEvent(response, 'content_block_start', {
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    });
    written = writeForEver(response, () => sendDelta(response, delta));
  });
  expect(result).toMatchObject({ ok: true, answer: { stopReason: 'max_tokens', text: '' } });
  expect(await written).toBeLessThan(BYTES_MAX + BUFFERED_BYTES);
});

test('a stream that never begins an answer is cut, and passes for trouble of the endpoint', async () => {
  const result = await ask((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    void writeForEver(response, () => void response.write(`: ${'x'.repeat(60_000)}\n\n`));
  });
  expect(result).toMatchObject({ ok: false, failure: { kind: 'transient', reason: 'cut_stream' } });
});

test('what the reader of the text throws ends the call, and comes out as itself', async () => {
  const fenced = new FencedError();
  const begin: Script = (response) => {
    sendStart(response);
    sendWords(response, 'Once');
  };
  const refuse = (): never => {
    throw fenced;
  };
  await expect(ask(begin, refuse)).rejects.toBe(fenced);
});

test('the user gets what was written until then, marked as cut', async () => {
  endpoint = await startEndpoint((response) => {
    sendStart(response);
    sendWords(response, 'Once');
    void writeForEver(response, () => sendDelta(response, { type: 'text_delta', text: ' upon a time' }));
  });
  await start({ ANTHROPIC_BASE_URL: endpoint.url, MAX_OUTPUT_TOKENS: '1000' });
  world.telegram.say(CHAT, 'Tell me everything');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(endpoint.bodies).toHaveLength(1);
  const shown = world.telegram.shown(CHAT).map(({ text }) => text);
  expect(shown[0]).toMatch(/^Once upon a time/);
  expect(shown.join('\n')).toContain(EN.cutAnswer);
  expect(shown.join('').length).toBeLessThan(1_000 * 16 + 5_000);
});
