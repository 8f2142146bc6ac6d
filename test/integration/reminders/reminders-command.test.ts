import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { buttons, newest, press, redButtons } from '../../fixture/commands.ts';
import { CHAT, eachInWorld, mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { FACT, givenLine, lines, notes, remembers } from '../../fixture/memory.ts';
import {
  asks,
  coming,
  dueTimes,
  givenReminder,
  makeDue,
  OFTEN,
  TEXT,
  tell,
  toolTexts,
} from '../../fixture/reminders.ts';
import { ask } from '../../fixture/whole-chat.ts';
import type { Entity } from '../../stand-in/telegram/entities.ts';

const GROUP = -1_002_000_000_001;
const GUEST = 5005;

eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` } });

/** The times that a message shows each reader by their own clock, with the text that stands for them. */
function momentsIn({ text = '', entities = [] }: { text?: string; entities?: Entity[] } = {}) {
  return entities.map(({ type, offset, length, unix_time, date_time_format }) => {
    return { type, unix_time, date_time_format, text: text.slice(offset, offset + length) };
  });
}

function momentAt(ms: number) {
  const text = `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} (UTC)`;
  return { type: 'date_time', unix_time: Math.floor(ms / 1000), date_time_format: 'wDt', text };
}

test('a server that does not know such times gets the list as a plain text; fifty reminders fit in order', async () => {
  await moveToWorld({ telegram: { apiVersion: 9.4 }, env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` } });
  await start({}, OFTEN);
  const ids = [];
  for (let at = 0; at < 50; at++)
    ids.push(await givenReminder({ text: `${at} ${'water the plants '.repeat(58)}` }, 60_000 * (at + 60)));
  await ask('/reminders', 1);
  const all = shown().join('\n');
  expect(all).toMatch(/^50 upcoming reminders:\n1\. .* \(UTC\): 0 water/);
  for (let at = 1; at < 50; at++)
    expect(all.indexOf(`\n${at + 1}. `)).toBeGreaterThan(all.indexOf(`${at === 1 ? '' : '\n'}${at}. `));
  expect(world.telegram.shown(CHAT).flatMap(({ entities = [] }) => entities)).toEqual([]);
  expect(buttons()).toEqual(ids.map((id) => `/reminders cancel ${id}`));
});

test('/reminders lists what is to come, the next one first, and each has a button that cancels it', async () => {
  await start({}, OFTEN);
  await ask('/reminders', 1);
  expect(newest()?.text).toBe(EN.reminders.none);
  const later = await givenReminder({ text: 'water the plants', repeat: { cron: '0 9 * * 1' } }, 7_200_000);
  const sooner = await givenReminder();
  await ask('/reminders', 2);
  expect(newest()?.text).toMatch(
    /^2 upcoming reminders:\n1\. .* \d\d:\d\d \(UTC\): call Ann.*\n2\. .*, every Monday at 9:00: water the plants$/,
  );
  const dueMs = (await dueTimes()).toSorted((one, other) => one - other);
  expect(momentsIn(newest())).toEqual(dueMs.map(momentAt));
  expect(buttons()).toEqual([`/reminders cancel ${sooner}`, `/reminders cancel ${later}`]);
  expect(redButtons()).toEqual(buttons());
  await press(`/reminders cancel ${later}`, 3);
  expect(newest()?.text).toMatch(/^Cancelled: water the plants\n\n1 upcoming reminder/);
  expect(await coming()).toEqual([`${CHAT}:${sooner}`]);
  await ask(`/reminders cancel ${later}`, 4);
  expect(newest()?.text).toContain(EN.reminders.unknown);
  await ask('/reminders please', 5);
  expect(newest()?.text).toBe(EN.reminders.usage);
});

test('in a group a reminder is a reply to who asked for it; a guest sees it, and neither sets nor cancels one', async () => {
  await start({ TELEGRAM_ANSWER_ALL_IDS: '*' }, OFTEN);
  const mine = { chat: GROUP, say: { fromId: CHAT, messageId: 77 } };
  await tell(1, [asks('r1', { action: 'set', in: 60, text: TEXT })], mine);
  const [, id = ''] = (await coming())[0]?.split(':') ?? [];
  const at = { chat: GROUP, say: { fromId: GUEST } };
  await tell(2, [asks('r2', { action: 'set', in: 60, text: TEXT }), asks('r3', { action: 'cancel', id })], at);
  expect(toolTexts()).toEqual([expect.stringMatching(/allow list/), expect.stringMatching(/allow list/)]);
  await ask(`/reminders@${world.telegram.username}`, 3, GROUP, { fromId: GUEST });
  expect(shown(GROUP).at(-1)).toMatch(/1 upcoming reminder/);
  expect(await ask(`/reminders@${world.telegram.username} cancel ${id}`, 4, GROUP, { fromId: GUEST })).toMatchObject({
    outcome: 'refused',
    reason: 'not_permitted',
  });
  expect(await coming()).toHaveLength(1);
  await makeDue();
  await nextOutcome(world, GROUP, 5);
  expect(world.telegram.shown(GROUP).at(-1)).toMatchObject({ replyTo: 77, text: expect.stringContaining(TEXT) });
});

test('a group that became a supergroup keeps reminders and memory: they are listed, changed, delivered and deleted there', async () => {
  const basic = -2001;
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${basic}`, TELEGRAM_ANSWER_ALL_IDS: '*' }, OFTEN);
  const at = { chat: basic, say: { fromId: CHAT, chatType: 'group' } };
  await tell(1, [asks('r1', { action: 'set', in: 60, text: TEXT }), remembers('m1'), remembers('m2', 'A boat')], at);
  await tell(2, [asks('r2', { action: 'set', in: 120, text: 'water the plants' })], at);
  const [fact, boat] = await lines(basic);
  const to = world.telegram.migrate(basic);
  const [first = ''] = await coming();
  await world.peek.zadd(world.keys.reminders, String(Date.now() - 1_000), first);
  await world.telegram.waitForText(to, /call Ann/);
  await nextOutcome(world, basic, 3);
  const sayThere = async (text: string, nth: number) => {
    await ask(text, nth, to, { fromId: CHAT });
    return shown(to).at(-1);
  };
  expect(await sayThere('/reminders', 1)).toMatch(/1 upcoming reminder.*\n1\. .*water the plants/);
  const [second = ''] = await coming();
  await sayThere(`/reminders cancel ${second.split(':')[1]}`, 2);
  expect(await coming()).toEqual([]);
  const changes = [remembers('m3', 'Ann sings'), notes('m4', { action: 'replace', id: boat?.id, text: 'No boat' })];
  await tell(3, changes, { chat: to, say: { fromId: CHAT } });
  await sayThere(`/memory forget ${fact?.id}`, 4);
  await sayThere(`/memory undo ${fact?.id}`, 5);
  expect(await sayThere('/memory', 6)).toMatch(/2 notes.*\n1\. No boat\n2\. Ann sings/);
  await sayThere('/forget yes', 7);
  expect(await world.peek.keys('*:memory*')).toEqual([]);
});

test('a group that moves to another shard is told of the reminders and the memory that could not come with it', async () => {
  // Of two shards, one has the old id and the other has the new one.
  const [old, moved] = [-2002, -1_002_002];
  const UPGRADED = { status: 400, description: 'Bad Request: group chat was upgraded to a supergroup chat' };
  world.telegram.openChat(moved);
  world.telegram.fail(
    'sendMessage',
    { ...UPGRADED, parameters: { migrate_to_chat_id: moved } },
    1_000,
    ({ chat_id }) => String(chat_id) === String(old),
  );
  const asked = { chatId: old, chatType: 'group', messageId: 1, from: { id: CHAT } };
  await givenReminder({ asked, repeat: { everyMinutes: 60 } }, 3_600_000, old);
  await givenReminder({ asked, text: 'water the plants' }, 7_200_000, old);
  await givenLine(FACT, {}, old);
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${old}`, SHARDS: '2' }, OFTEN);
  const [first = ''] = await coming();
  await world.peek.zadd(world.keys.reminders, String(Date.now() - 1_000), first);
  await nextOutcome(world, old);
  expect(shown(moved)[0]).toContain(TEXT);
  expect(shown(moved).slice(1).sort()).toEqual(
    [EN.memory.left(FACT), EN.reminders.left([TEXT, 'water the plants'])].sort(),
  );
  expect([await coming(), await world.peek.keys('*:memory*')]).toEqual([[], []]);
});

test('/timezone sets the clocks of the chat, for headers and for reminders', async () => {
  await start({}, OFTEN);
  await ask('/timezone', 1);
  expect(newest()?.text).toMatch(/^The time in this chat is \d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)\.$/);
  await ask('/timezone asia/taipei', 2);
  expect(newest()?.text).toMatch(/is now .* \(Asia\/Taipei\)/);
  await tell(3, [asks('r1', { action: 'set', at: '2027-06-01T09:00', text: TEXT })]);
  expect(await dueTimes()).toEqual([Date.UTC(2027, 5, 1, 1)]);
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('Asia/Taipei]');
  await ask('/timezone Middle/Earth', 4);
  expect(newest()?.text).toBe(EN.timeZoneUnknown('Middle/Earth'));
  await ask('/timezone +08:00', 5);
  expect(newest()?.text).toBe(EN.timeZoneUnknown('+08:00'));
  await ask('/timezone auto', 6);
  expect(newest()?.text).toMatch(/is now .* \(UTC\)/);
});
