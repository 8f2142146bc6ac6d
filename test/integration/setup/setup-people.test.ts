import { writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { GREETING } from '../../../shared/texts/language.ts';
import {
  BEN,
  eachBeforeSetup,
  file,
  finishes,
  givesToken,
  givesWatchers,
  KEY,
  keeps,
  keepsModel,
  OLD,
  OWNER,
  provesOwner,
  start,
  telegram,
} from '../../fixture/setup-talk.ts';
import { DOWN, ENTER } from '../../fixture/terminal.ts';

eachBeforeSetup();

test('somebody is added: the words are about them, and the alerts go to whoever was first', async () => {
  await writeFile(file, OLD);
  const ran = start();
  await ran.sees(/BOT_TOKEN is set/);
  ran.presses(ENTER);
  await ran.sees(/Replace it/);
  ran.presses(`${DOWN}${ENTER}`);
  const [, code] = await ran.sees(/Who is to be added\?[\s\S]*\?start=(\d{8})[\s\S]*Waiting for the message/);
  telegram.say(BEN, `/start ${code}`);
  await ran.sees(/1002 is added\./);
  await ran.sees(/ALERT_CHAT_ID is set: none/);
  await ran.sees(/Yes/);
  ran.presses('n');
  await ran.sees(/Where should alerts go/);
  telegram.openChat(OWNER);
  ran.presses(ENTER);
  await ran.sees(/The test message has arrived/);
  expect([telegram.shown(OWNER).length, telegram.shown(BEN).length]).toEqual([1, 0]);
});

test.each([
  ['in the language of their app', 'zh-TW', false],
  ['and setup says so where it cannot come', 'en', true],
])('a new bot introduces itself to its owner once, %s', async (_how, languageCode, isBlocked) => {
  const notHere = { status: 403, description: 'Forbidden: bot was blocked by the user' };
  if (isBlocked) telegram.fail('sendMessage', notHere, 1, ({ text }) => text === GREETING.en);
  await writeFile(file, `TELEGRAM_ALERT_CHAT_ID=none\nANTHROPIC_API_KEY=${KEY}\n`);
  const ran = start();
  await givesToken(ran);
  await provesOwner(ran, languageCode);
  await ran.sees(/ALERT_CHAT_ID is set: none/);
  await ran.sees(/Yes/);
  ran.presses(ENTER);
  await givesWatchers(ran);
  await keepsModel(ran);
  await finishes(ran);
  const greeted = telegram.shown(OWNER).map(({ text }) => text);
  expect(greeted).toEqual(isBlocked ? [] : [GREETING['zh-hant']]);
  expect(/could not send you its greeting: .*blocked/.test(ran.shown())).toBe(isBlocked);
  const again = start();
  await keeps(again, 3);
  await givesWatchers(again);
  await keepsModel(again);
  await again.sees(/The time zone/);
  again.presses(ENTER);
  expect(await again.ended).toBe(0);
  expect(telegram.shown(OWNER)).toHaveLength(greeted.length);
});

test('of a bot that is open to everybody, setup does not ask whether strangers may ask', async () => {
  await writeFile(file, OLD.replace('1001,-5', '*'));
  const ran = start();
  await keeps(ran, 3);
  await ran.sees(/DEADMAN_URL \(Enter/);
  expect(ran.shown()).not.toContain('PAIRING');
});
