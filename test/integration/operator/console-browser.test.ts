import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type Browser, findChromium, startBrowser, type Tab } from '../../fixture/browser.ts';
import { openConsole, TOKEN } from '../../fixture/console.ts';
import { givenFailed } from '../../fixture/each-console.ts';
import { CHAT, eachInWorld, world } from '../../fixture/each-test.ts';
import { searchPath } from '../../fixture/environment.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

eachInWorld();

const command = findChromium(searchPath());
/** Skipped aloud where the machine has no browser. */
const testInBrowser = command === undefined ? test.skip : test;

let browser: Browser | undefined;
let served: Awaited<ReturnType<typeof openConsole>> | undefined;

beforeAll(async () => {
  if (command !== undefined) browser = await startBrowser(command);
});

afterEach(async () => {
  await served?.stop();
  served = undefined;
});

afterAll(() => browser?.close());

/** A tab in which somebody has typed the token into the form. */
async function loggedIn(options: { script: boolean; width?: number }): Promise<Tab> {
  served = await openConsole(world);
  const tab = await (browser as Browser).tab(options);
  await tab.setScreen(options.width ?? 1280, 800);
  await tab.open(`${served.url}/console`);
  await tab.type('#token', TOKEN);
  await tab.pressEnter();
  // The status of the page with the form, 401, is one.
  tab.complaints.length = 0;
  return tab;
}

testInBrowser(
  'without JavaScript a person logs in by the form, follows the links and puts a dead letter back, once',
  async () => {
    await givenFailed('from the dead');
    world.claude.react((call) => ({ do: 'answer', text: call.pendingText }));
    const tab = await loggedIn({ script: false });
    expect(await tab.html()).toMatch(/<h1>(?:Green|Red)<\/h1>/);
    for (const page of ['incidents', 'recoveries', 'cost', 'audit', 'actions', 'allowed', 'dead']) {
      await tab.click(`nav a[href="/console/${page}"]`);
      expect(await tab.html()).toContain(`href="/console/${page}" aria-current="page"`);
    }
    await tab.click('td form button');
    expect(await tab.html()).toContain('is replayed after the other messages of its chat');
    await nextOutcome(world, CHAT, 2);
    expect(world.telegram.shown(CHAT).filter(({ text }) => text === 'from the dead')).toHaveLength(1);
    expect(tab.complaints).toEqual([]);
  },
);

testInBrowser('no page is wider than the screen of a phone', async () => {
  await givenFailed('hello');
  const tab = await loggedIn({ script: false, width: 360 });
  const entry = (await world.peek.xrevrange(world.keys.dead, '+', '-', 'COUNT', 1))[0]?.[1][1];
  const lists = ['', '/incidents', '/dead', '/recoveries', '/cost', '/audit', '/actions', '/allowed'];
  const named = [`/chat/${CHAT}`, `/message/${entry}`, '/runbook/failed', '/runbook/blob-store', '/incident/provider'];
  const asking = [`/act/purge?target=${entry}`, `/act/cancel?target=${entry}`, '/act/replay?target=0..9'];
  const paths = [...lists, ...named, ...asking, '/act/pause?target=*'];
  for (const path of paths) {
    await tab.open(`${served?.url}/console${path}`);
    expect([path, await tab.width()]).toEqual([path, 360]);
  }
});
