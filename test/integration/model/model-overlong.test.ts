import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { eachInWorld, shown, start } from '../../fixture/each-test.ts';
import { type ScriptedEndpoint, sendStart, sendWords, startEndpoint } from '../../fixture/scripted-endpoint.ts';
import { ask } from '../../fixture/whole-chat.ts';

const MB = 1024 * 1024;
/** The bound of one response, and what stands in the buffers of both sides when one of them stops. */
const BYTES_MAX = (64 + 8) * MB;

let endpoint: ScriptedEndpoint | undefined;

eachInWorld();
afterEach(() => endpoint?.close());

/** Writes without end, as fast as it is read. */
function writeForEver(response: ServerResponse): void {
  const comment = `: ${'x'.repeat(MB)}\n\n`;
  const go = (): void => {
    while (!response.destroyed && !response.writableNeedDrain) response.write(comment);
    if (!response.destroyed) response.once('drain', go);
  };
  go();
}

test('a response beyond its bound ends there, in each try, and its message fails with the words', async () => {
  const written: number[] = [];
  endpoint = await startEndpoint((response) => {
    const { socket } = response;
    response.once('close', () => written.push(socket?.bytesWritten ?? 0));
    sendStart(response);
    sendWords(response, 'Once upon a time');
    writeForEver(response);
  });
  await start({ ANTHROPIC_BASE_URL: endpoint.url, OUTAGE_PATIENCE_MS: '1000' });
  expect(await ask('Tell me everything')).toMatchObject({ outcome: 'failed', reason: 'cut_stream' });
  expect(shown()).toEqual([`Once upon a time\n\n${EN.brokenOff}\n\n${EN.unavailable}`]);
  expect(Math.min(...written)).toBeGreaterThan(60 * MB);
  expect(Math.max(...written)).toBeLessThan(BYTES_MAX);
});
