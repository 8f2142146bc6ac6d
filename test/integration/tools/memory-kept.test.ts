import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { ZH_HANT } from '../../../shared/texts/zh-hant.ts';
import {
  buttons,
  HANG,
  newest,
  outcomes,
  press,
  redButtons,
  scriptCommands,
  untilAsked,
} from '../../fixture/commands.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { FACT, givenLine, remembers, system, texts } from '../../fixture/memory.ts';
import { tell } from '../../fixture/reminders.ts';
import { ask, givenLines, sessionOf } from '../../fixture/whole-chat.ts';

eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

const keysOfMemory = () => world.peek.keys('*:memory*');

test('/memory lists the lines, each with a button that deletes it, and one that deletes all after asking', async () => {
  await start();
  await ask('/memory', 1);
  expect(newest()?.text).toBe(EN.memory.none);
  const [first, second] = [await givenLine(FACT), await givenLine('The boat is called Ida', { source: 'page' })];
  await ask('/memory', 2);
  expect(newest()?.text).toBe(
    `What I remember about this chat (2 notes, 2% full):\n1. ${FACT}\n2. The boat is called Ida (from a page or a tool)`,
  );
  expect(buttons()).toEqual([`/memory forget ${first}`, `/memory forget ${second}`, '/memory forget all']);
  expect(redButtons()).toEqual(buttons());
  await ask('/export', 3);
  expect(world.telegram.shown(CHAT).some(({ document }) => document?.name === 'chat.md')).toBe(true);
  await ask('/memory', 4);
  await press(`/memory forget ${first}`, 5);
  expect(newest()?.text).toMatch(/^Deleted: Ann does not eat meat\n\nWhat I remember .*\n1\. The boat/);
  await ask(`/memory forget ${first}`, 6);
  expect(newest()?.text).toContain(EN.memory.unknown);
  await press('/memory forget all', 7);
  expect(newest()?.text).toBe(EN.memory.asks(1));
  expect(await texts()).toHaveLength(1);
  await press('/memory forget all yes', 8);
  expect(newest()?.text).toBe(EN.memory.deletedAll);
  expect(await keysOfMemory()).toEqual([]);
  await ask('/memory please', 9);
  expect(newest()?.text).toBe(EN.memory.usage);
});

test('/memory of a hundred long lines fits into messages and buttons, in Chinese too', async () => {
  for (let at = 0; at < 100; at++) await givenLine(`${at} `.padEnd(80, 'x'));
  await start();
  await ask('/memory', 1);
  expect(buttons()).toHaveLength(100);
  await ask('/memory', 2, CHAT, { languageCode: 'zh-hant' });
  expect(shown().join('\n')).toContain(ZH_HANT.memory.title(100, 100));
});

test('/memory does not wait for what is being answered; what a person deleted is in no later request', async () => {
  const id = await givenLine(FACT);
  scriptCommands();
  await start();
  world.telegram.say(CHAT, HANG);
  await untilAsked(HANG);
  expect(system()).toContain(FACT);
  await ask(`/memory forget ${id}`, 1);
  expect(await outcomes()).toEqual(['command memory']);
  await ask('/stop', 3);
  await ask('What do I eat?', 4);
  expect(system()).not.toContain(FACT);
  expect(system()).not.toContain('Below are the notes');
});

test('it survives /new, is exported, and /forget erases it with what could be undone', async () => {
  await start({ BLOB_URL: 'redis:' });
  await tell(1, [remembers('m1', FACT, { source: 'page' })]);
  await ask('/new', 2);
  expect(await texts()).toEqual([FACT]);
  await ask('/export', 3);
  const files = await Promise.all((await world.peek.keys('*:media:*')).map((key) => world.peek.get(key)));
  expect(files.join('\n')).toContain(`${EN.memory.exported}\n\n- ${FACT} (from a page or a tool)\n`);
  await ask('/forget', 4);
  await press('/forget yes', 5);
  expect(await keysOfMemory()).toEqual([]);
  await ask('What do I eat?', 6);
  expect(system()).not.toContain(FACT);
});

test('a compaction and a fresh session carry the memory as it is then, and not before', async () => {
  await givenLines(conversation(100, 1_000));
  await givenLine(FACT);
  await start();
  let _later: Promise<string> | undefined;
  world.claude.react((call) => {
    if (call.kind === 'compaction') _later ??= givenLine('noted meanwhile');
    return call.kind === 'main' && !isProbe(call) && !isSeeded(call) ? { do: 'overflow' } : undefined;
  });
  expect(await ask('What did we decide?')).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(system(0)).toContain(FACT);
  expect(system(0)).not.toContain('noted meanwhile');
  const compacted = mainCalls().findIndex((call, at) => at > 0 && !isProbe(call) && !isSeeded(call));
  for (const at of [compacted, -1]) expect(system(at)).toMatch(/Ann does not eat meat.*noted meanwhile/);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('Recovery note');
  expect(await world.peek.hget(world.keys.session(await sessionOf()), 'memory')).toContain(FACT);
  expect(world.claude.violations()).toEqual([]);
});

test('a memory that the endpoint refuses does not silence its chat: the second message is answered without it', async () => {
  await givenLine('GUILTY words');
  await start();
  world.claude.guard.rejectsText = { pattern: /GUILTY/, respond: 'bodyless' };
  expect(await ask('Hello?')).toMatchObject({ outcome: 'failed' });
  for (const nth of [2, 3]) {
    expect(await ask('And now?', nth)).toMatchObject({ outcome: 'answered' });
  }
  expect(await texts()).toEqual(['GUILTY words']);
});
