import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { ZH_HANT } from '../../../shared/texts/zh-hant.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import {
  buttons,
  HANG,
  newest,
  outcomes,
  press,
  redButtons,
  say,
  scriptCommands,
  untilAsked,
} from '../../fixture/commands.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { FACT, givenLine, lines, remembers, system, texts } from '../../fixture/memory.ts';
import { tell } from '../../fixture/reminders.ts';

eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

const givenHistory = async (turns = 100) =>
  importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(turns, 1_000)));
/** Telegram refuses the old id of a group from now on, and names the new one. */
function becomes(old: number, moved: number): void {
  const refusal = { status: 400, description: 'Bad Request: group chat was upgraded to a supergroup chat' };
  world.telegram.openChat(moved);
  world.telegram.fail(
    'sendMessage',
    { ...refusal, parameters: { migrate_to_chat_id: moved } },
    1_000,
    ({ chat_id }) => String(chat_id) === String(old),
  );
}

const keysOfMemory = () => world.peek.keys('*:memory*');

test('/memory lists the lines, each with a button that deletes it, and one that deletes all after asking', async () => {
  await start();
  await say('/memory', 1);
  expect(newest()?.text).toBe(EN.memory.none);
  const [first, second] = [await givenLine(FACT), await givenLine('The boat is called Ida', { source: 'page' })];
  await say('/memory', 2);
  expect(newest()?.text).toBe(
    `I remember this about the chat (2 lines, 2% full):\n1. ${FACT}\n2. The boat is called Ida (from a page or a tool)`,
  );
  expect(buttons()).toEqual([`/memory forget ${first}`, `/memory forget ${second}`, '/memory forget all']);
  expect(redButtons()).toEqual(buttons());
  await press(`/memory forget ${first}`, 3);
  expect(newest()?.text).toMatch(/^Deleted: Ann does not eat meat\n\nI remember .*\n1\. The boat/);
  await say(`/memory forget ${first}`, 4);
  expect(newest()?.text).toContain(EN.memory.unknown);
  await press('/memory forget all', 5);
  expect(newest()?.text).toBe(EN.memory.asks(1));
  expect(await texts()).toHaveLength(1);
  await press('/memory forget all yes', 6);
  expect(newest()?.text).toBe(EN.memory.deletedAll);
  expect(await keysOfMemory()).toEqual([]);
  await say('/memory please', 7);
  expect(newest()?.text).toBe(EN.memory.usage);
});

test('/memory of a hundred long lines fits into messages and buttons, in Chinese too', async () => {
  for (let at = 0; at < 100; at++) await givenLine(`${at} `.padEnd(80, 'x'));
  await start();
  await say('/memory', 1);
  expect(buttons()).toHaveLength(100);
  await say('/lang zh-hant', 2);
  await say('/memory', 3);
  expect(shown().join('\n')).toContain(ZH_HANT.memory.title(100, 100));
});

test('/memory does not wait for what is being answered; what a person deleted is in no later request', async () => {
  const id = await givenLine(FACT);
  scriptCommands();
  await start();
  world.telegram.say(CHAT, HANG);
  await untilAsked(HANG);
  expect(system()).toContain(FACT);
  await say(`/memory forget ${id}`, 1);
  expect(await outcomes()).toEqual(['command memory']);
  await say('/stop', 3);
  await say('What do I eat?', 4);
  expect(system()).not.toContain(FACT);
  expect(system()).not.toContain('Below are the notes');
});

test('undoing a deletion brings the line back into the next request', async () => {
  await givenLine(FACT);
  await start();
  await tell(1, [{ type: 'tool_use', id: 'm1', name: 'memory', input: { action: 'forget', id: 'given0' } }]);
  await press(String(buttons()[0]), 2);
  expect(newest()?.text).toMatch(/^As it was: Ann does not eat meat/);
  await say('What do I eat?', 3);
  expect(system()).toContain(FACT);
  expect(await texts()).toEqual([FACT]);
});

test('it survives /new, is exported, and /forget erases it with what could be undone', async () => {
  await start({ BLOB_URL: 'redis:' });
  await tell(1, [remembers('m1', FACT, { source: 'page' })]);
  await say('/new', 2);
  expect(await texts()).toEqual([FACT]);
  await say('/export', 3);
  const files = await Promise.all((await world.peek.keys('*:media:*')).map((key) => world.peek.get(key)));
  expect(files.join('\n')).toContain(`${EN.memory.exported}\n\n- ${FACT} (from a page or a tool)\n`);
  await say('/forget', 4);
  await press('/forget yes', 5);
  expect(await keysOfMemory()).toEqual([]);
  await say('What do I eat?', 6);
  expect(system()).not.toContain(FACT);
});

test('what is remembered is exported where no conversation is left', async () => {
  await givenLine(FACT);
  await start();
  await say('/export', 1);
  expect(world.telegram.shown(CHAT).some(({ document }) => document?.name === 'chat.md')).toBe(true);
});

test('a compaction carries the memory as it is then, and not before', async () => {
  await givenHistory();
  await givenLine(FACT);
  await start();
  world.claude.react(({ kind }) => (kind === 'main' && mainCalls().length <= 1 ? { do: 'overflow' } : undefined));
  let added = false;
  world.claude.react((call) => {
    if (call.kind === 'compaction' && !added) {
      added = true;
      void givenLine('noted meanwhile');
    }
    return undefined;
  });
  world.telegram.say(CHAT, 'What did we decide?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(system(0)).toContain(FACT);
  expect(system(0)).not.toContain('noted meanwhile');
  expect(system()).toMatch(/Ann does not eat meat.*noted meanwhile/);
  expect(world.claude.violations()).toEqual([]);
});

test('stage 2 carries it into the fresh session', async () => {
  await givenHistory();
  await givenLine(FACT);
  await start();
  world.claude.react((call) =>
    call.kind === 'main' && !isProbe(call) && !isSeeded(call) ? { do: 'overflow' } : undefined,
  );
  world.telegram.say(CHAT, 'Go on, please');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('Recovery note');
  expect(system()).toContain(FACT);
  const session = await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session');
  expect(await world.peek.hget(world.keys.session(session as never), 'memory')).toContain(FACT);
});

test('a memory that the endpoint refuses does not silence its chat: the second message is answered without it', async () => {
  await givenLine('GUILTY words');
  await start();
  world.claude.guard.rejectsText = { pattern: /GUILTY/, respond: 'bodyless' };
  world.telegram.say(CHAT, 'Hello?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  for (const nth of [2, 3]) {
    world.telegram.say(CHAT, 'And now?');
    expect(await nextOutcome(world, CHAT, nth)).toMatchObject({ outcome: 'answered' });
  }
  expect(await texts()).toEqual(['GUILTY words']);
});

test('a group that became a supergroup keeps it: listed, changed and deleted there', async () => {
  const [old, moved] = [-2001, -1_002_001];
  becomes(old, moved);
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${old},${moved}`, TELEGRAM_ANSWER_ALL_IDS: '*' });
  const at = { chat: old, say: { fromId: CHAT, chatType: 'group' } };
  await tell(1, [remembers('m1'), remembers('m2', 'The boat is called Ida')], at);
  expect(shown(moved).at(-1)).toContain(`Noted: ${FACT}`);
  const [first, second] = await lines(old);
  const there = { chat: moved, say: { fromId: CHAT, chatType: 'supergroup' } };
  const renames = {
    type: 'tool_use',
    id: 'm4',
    name: 'memory',
    input: { action: 'replace', id: second?.id, text: 'No boat' },
  };
  await tell(1, [remembers('m3', 'Ann sings'), renames], there);
  for (const [nth, words] of [` forget ${first?.id}`, ` undo ${first?.id}`, ''].entries()) {
    world.telegram.say(moved, `/memory${words}`, { fromId: CHAT, chatType: 'supergroup' });
    await nextOutcome(world, moved, 2 + nth);
  }
  expect(shown(moved).at(-1)).toMatch(/2 lines.*\n1\. No boat\n2\. Ann sings/);
  world.telegram.say(moved, '/forget yes', { fromId: CHAT, chatType: 'supergroup' });
  await nextOutcome(world, moved, 5);
  expect(await keysOfMemory()).toEqual([]);
});

test('a group that moves to another shard is told what could not come with it', async () => {
  // Of two shards, one has the old id and the other has the new one.
  const [old, moved] = [-2002, -1_002_002];
  becomes(old, moved);
  await givenLine(FACT, {}, old);
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${old}`, TELEGRAM_ANSWER_ALL_IDS: '*', SHARDS: '2' });
  world.telegram.say(old, 'Hello', { fromId: CHAT, chatType: 'group' });
  await nextOutcome(world, old);
  expect(shown(moved).at(-1)).toBe(EN.memory.left(FACT));
  expect(await keysOfMemory()).toEqual([]);
});
