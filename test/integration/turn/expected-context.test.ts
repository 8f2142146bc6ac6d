import { expect, test } from '@jest/globals';
import { OWN_TOOLS } from '../../../worker/chat-table.ts';
import { HEADER } from '../../fixture/asked.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';
import { searched } from '../../stand-in/claude/searching.ts';

const SEARCH = {
  id: 'srvtoolu_1',
  query: 'spillway',
  found: [{ url: 'https://example.org/spillway', title: 'Spillways' }],
};

eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: '*', TZ: 'Asia/Taipei' } });

const requests = () => world.claude.calls.map(({ body }) => body);

const headersOf = (at: number): string[] =>
  (requests()[at]?.messages ?? [])
    .flatMap(({ content }) => blocksOf(content).map(({ text }) => String(text ?? '')))
    .filter((text) => HEADER.test(text));

test('the model gets the date, time and zone of each message, and earlier ones stay unchanged', async () => {
  await start();
  await ask('What day is it?');
  await ask('And now?', 2);
  expect(headersOf(0)).toEqual([expect.stringMatching(/ Asia\/Taipei\]$/)]);
  expect(headersOf(1)).toHaveLength(2);
  expect(headersOf(1)[0]).toBe(headersOf(0)[0]);
  expect(JSON.stringify(requests()[0]?.system)).toContain('Never tell the code');
  expect(world.claude.calls.map(({ pendingText }) => pendingText)).toEqual(['What day is it?', 'And now?']);
  expect(world.claude.violations()).toEqual([]);
});

test('with WEB_SEARCH the provider searches the web, and the user gets the sources as links', async () => {
  Object.assign(world.env, { WEB_SEARCH: 'true', WEB_FETCH: 'true' });
  await start();
  world.claude.react(({ pendingText }) =>
    pendingText === 'Look it up' ? searched(SEARCH, 'A spillway lets water pass.') : undefined,
  );
  expect(await ask('Look it up')).toMatchObject({ outcome: 'answered' });
  const tools = requests()[0]?.tools?.map(({ name }) => String(name)) ?? [];
  expect(tools).toEqual(['recall', 'send_file', 'reminders', 'memory', 'ask_user', 'web_search', 'web_fetch']);
  // Those that are no server's are those that a table of chats may name.
  expect(tools.toSorted()).toEqual(OWN_TOOLS.toSorted());
  expect(world.telegram.shown(CHAT).at(-1)?.text).toMatch(/Sources:\n+• .*https?:\/\//);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
});
