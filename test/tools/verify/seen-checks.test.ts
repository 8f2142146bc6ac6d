import { createServer } from 'node:http';
import { expect, test } from '@jest/globals';
import { closeServer, listen } from '../../stand-in/loopback.ts';
import { jaegerAt } from './jaeger.ts';
import { checkSeen } from './seen-checks.ts';

/** Why nothing was looked at, where a Jaeger answers with this page. */
async function reasonsWith(page: string, command: string | undefined): Promise<Set<string>> {
  const server = createServer((_, response) => response.end(page));
  const url = await listen(server);
  const running = new Set<{ abandon(): void }>();
  const { checks, pictures } = await checkSeen(jaegerAt(url), running, command);
  await closeServer(server);
  expect([pictures, running.size, checks.length]).toEqual([[], 0, 3]);
  expect(new Set(checks.map(({ verdict }) => verdict))).toEqual(new Set(['not run']));
  return new Set(checks.map(({ seen }) => seen));
}

const PAGES = '<div id="jaeger-ui-root"></div>';

test('without a Jaeger, its pages or a browser nothing is looked at, and the reason is said', async () => {
  const { checks } = await checkSeen(undefined, new Set(), 'chromium');
  expect(checks.map(({ verdict, seen }) => `${verdict}: ${seen}`)[0]).toBe('not run: Jaeger was not found');
  expect(await reasonsWith('a placeholder', 'chromium')).toEqual(new Set(['this Jaeger was built without its pages']));
  expect(await reasonsWith(PAGES, '/nowhere/chromium')).toEqual(new Set(['no page opens: spawn … ENOENT']));
  expect([...(await reasonsWith(PAGES, process.execPath))][0]).toMatch(/^no page opens: the browser ended/);
});
