import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { photo } from '../../stand-in/telegram/inbound-kinds.ts';

const GROUP = -1_002_000_000_001;
const BASIC = -2001;
const GUEST = 5005;

eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP},${BASIC}`, TELEGRAM_ANSWER_ALL_IDS: '' } });

const mention = () => `@${world.telegram.username}`;

test('answers a mention as a reply to it, and nothing that is not addressed', async () => {
  await start();
  world.telegram.say(GROUP, 'What do we eat?', { fromId: CHAT });
  world.telegram.say(GROUP, `${mention()} what is this?`, { fromId: GUEST, messageId: 50 });
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  expect(world.telegram.shown(GROUP)).toEqual([expect.objectContaining({ replyTo: 50 })]);
  expect(world.claude.calls.filter(({ kind }) => kind === 'main')).toHaveLength(1);
});

test('a command or a mention in the caption of a photo is answered, with the photo', async () => {
  await start();
  const picture = async (caption: string, fromId = GUEST) => {
    const id = world.telegram.addFile(await jpegPhoto(300, 200), `photos/${caption.length}.jpg`);
    world.telegram.say(GROUP, '', { fromId, extra: photo(id, { caption }) });
  };
  await picture('look');
  await picture('/ask@another_bot what is this');
  await picture(`/ask${mention()} what is this`);
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  await picture(`and this, ${mention()}?`);
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'answered' });
  const asked = mainCalls().map(({ body }) => JSON.stringify(body.messages.at(-1)));
  expect(asked).toEqual([expect.stringContaining('what is this'), expect.stringContaining('and this')]);
  for (const each of asked) expect(each).toContain('"type":"image"');
  await picture(`/new${mention()}`);
  expect(await nextOutcome(world, GROUP, 3)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  await picture(`/new${mention()} and here?`, CHAT);
  expect(await nextOutcome(world, GROUP, 4)).toMatchObject({ outcome: 'answered' });
  const anew = JSON.stringify(mainCalls().at(-1)?.body.messages);
  expect(anew).toContain('and here?');
  expect(anew.split('"type":"image"')).toHaveLength(2);
});

test('two people in one topic: each is answered, in order, as a reply in the topic', async () => {
  await start();
  world.telegram.say(GROUP, `${mention()} one`, { fromId: CHAT, topicId: 7, messageId: 60 });
  world.telegram.say(GROUP, `two ${mention()}`, { fromId: GUEST, topicId: 7, messageId: 61 });
  await world.telegram.waitForText(GROUP, /two/);
  expect(world.telegram.shown(GROUP, 7).map(({ replyTo }) => replyTo)).toEqual([60, 61]);
});

test('a reply to the bot brings what it refers to', async () => {
  await start();
  world.telegram.say(GROUP, `${mention()} hello`, { fromId: CHAT });
  await nextOutcome(world, GROUP);
  const [first] = world.telegram.shown(GROUP);
  world.telegram.say(GROUP, 'and then?', { fromId: GUEST, replyTo: first?.messageId ?? 0 });
  await nextOutcome(world, GROUP, 2);
  const asked = JSON.stringify(world.claude.calls.at(-1)?.body.messages.at(-1));
  expect(asked).toContain('in answer to your own message');
  expect(asked).toContain('> You said:');
});

test('a guest may not start a new conversation, and cancels nothing by trying', async () => {
  await start();
  world.telegram.say(GROUP, `/new@${world.telegram.username}`, { fromId: GUEST });
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  expect(shown(GROUP)).toEqual([EN.notPermitted]);
  world.telegram.say(GROUP, `/new@${world.telegram.username}`, { fromId: CHAT });
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'command' });
});

test('a group that becomes a supergroup is answered under its new id, and the operator gets that id', async () => {
  await start();
  world.telegram.say(BASIC, `${mention()} before`, { fromId: CHAT, chatType: 'group' });
  await nextOutcome(world, BASIC);
  const to = world.telegram.migrate(BASIC);
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /goes on under the id/);
  expect(text).toContain(String(to));
  world.telegram.say(to, `${mention()} after`, { fromId: CHAT });
  expect(await nextOutcome(world, to)).toMatchObject({ outcome: 'answered' });
});

test('what was said before a question, and not to the bot, is shown to the model with it once, if the operator wants that', async () => {
  await start({ GROUP_CONTEXT_MESSAGES: '2' });
  for (const [at, text] of ['The cake is late.', 'Ben brings it.', 'At noon [#x you may go]'].entries())
    world.telegram.say(GROUP, text, { fromId: GUEST, firstName: 'Cleo', messageId: 70 + at });
  world.telegram.say(GROUP, `${mention()} who brings the cake?`, { messageId: 80 });
  await nextOutcome(world, GROUP);
  const asked = JSON.stringify(mainCalls().at(-1)?.body.messages);
  expect(asked).toMatch(
    /before that, this was said here and not to you:\]\\n> \\"Cleo\\": Ben brings it\.\\n> \\"Cleo\\": At noon/,
  );
  expect(asked).not.toContain('The cake is late.');
  world.telegram.say(GROUP, `${mention()} and when?`, { messageId: 81 });
  await nextOutcome(world, GROUP, 2);
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages.at(-1))).not.toContain('Ben brings it.');
  expect(shown(GROUP)).toHaveLength(2);
});
