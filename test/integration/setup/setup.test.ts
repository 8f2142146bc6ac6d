import { readdirSync } from 'node:fs';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { GREETING } from '../../../shared/texts/language.ts';
import { runFile } from '../../fixture/command.ts';
import {
  answersPairing,
  claude,
  eachBeforeSetup,
  environment,
  file,
  finishes,
  folder,
  givesModel,
  givesToken,
  givesWatchers,
  KEY,
  keeps,
  OLD,
  OWNER,
  provesOwner,
  readFileEnv,
  SETUP,
  STRANGER,
  start,
  TOKEN,
  telegram,
} from '../../fixture/setup-talk.ts';
import { CTRL_C, DOWN, ENTER } from '../../fixture/terminal.ts';

eachBeforeSetup();

/** It waits for a message: its first look took what waited already, and was over at once. */
const untilListening = () =>
  telegram.waitForCall(({ method, params }) => method === 'getUpdates' && Number(params.timeout) > 0);

test('a new bot is set up from nothing: the file is complete, private, and a gateway can be checked with it', async () => {
  const ran = start();
  await givesToken(ran);
  await ran.sees(/Privacy mode is on.*\/setprivacy/s);
  await provesOwner(ran);
  await ran.sees(/Where should alerts go/);
  ran.presses(ENTER);
  await ran.sees(/The test message has arrived/);
  await givesWatchers(ran, '', '', 'y');
  await givesModel(ran, KEY);
  await ran.sees(/The model answers: claude-opus-5-5/);
  await finishes(
    ran,
    /TELEGRAM_BOT_TOKEN {2}\(not shown\)[\s\S]*TELEGRAM_ALLOWED_IDS=1001[\s\S]*ANTHROPIC_API_KEY {2}\(not shown\)/,
  );
  expect(ran.shown()).toMatch(/has sent you three things to try/);
  expect(telegram.shown(OWNER).map(({ text }) => text)).toEqual([
    expect.stringContaining('Alerts for its operator'),
    GREETING.en,
  ]);
  expect(telegram.pending()).toBe(0);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['.env']);
  const { TZ, ...values } = await readFileEnv();
  expect(values).toEqual({
    TELEGRAM_BOT_TOKEN: TOKEN,
    TELEGRAM_ALLOWED_IDS: String(OWNER),
    TELEGRAM_ALERT_CHAT_ID: String(OWNER),
    PAIRING: 'on',
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: claude.url,
    TELEGRAM_API_ROOT: telegram.url,
  });
  expect(ran.shown()).not.toContain(TOKEN);
  expect(ran.shown()).not.toContain(KEY);
  const checked = await runFile('worker/cli/main.ts', ['check'], { SPILLWAY_ENV_FILE: file });
  expect(checked).toMatchObject({ code: 0, stderr: '' });
});

test('a token that Telegram refuses is asked for again, in words; a server that cannot be reached is tried again', async () => {
  const ran = start();
  await ran.sees(/Your bot's token/);
  ran.types('no token at all');
  await ran.sees(/expected a bot token as BotFather gives it/);
  ran.types('7000001:another-bots-token');
  await ran.sees(/Telegram does not accept this token/);
  telegram.fail('getMe', { do: 'cut' }, 1);
  await ran.sees(/Your bot's token/);
  ran.types(TOKEN);
  await ran.sees(/127\.0\.0\.1:\d+ could not be asked about the token/);
  await ran.sees(/Try again/);
  ran.presses(ENTER);
  await ran.sees(/accepts the token/);
});

test('a stranger who writes first does not become the owner, and their message stays for the gateway', async () => {
  telegram.say(STRANGER, 'hello, whose bot is this?');
  const ran = start();
  await givesToken(ran);
  const [, code] = await ran.sees(/\?start=(\d{8})/);
  await ran.sees(/Already waiting for the bot: 1 older message\./);
  telegram.say(STRANGER, code === '00000000' ? '00000001' : '00000000');
  await ran.sees(/Ignored a message from the id 666/);
  telegram.say(-5, `/start@spillway_stand_in_bot ${code}`, { fromId: STRANGER });
  await ran.sees(/The code has arrived, but not in a private chat/);
  telegram.say(OWNER, ` ${code?.slice(0, 4)} ${code?.slice(4)} `);
  await ran.sees(/Your id is 1001/);
  expect(telegram.pending()).toBe(4);
  expect(ran.shown().match(/Ignored/g)).toHaveLength(1);
});

test('a webhook is named and removed only with consent', async () => {
  const hook = encodeURIComponent('https://example.org/secret-path');
  await fetch(`${telegram.url}/bot${TOKEN}/setWebhook?url=${hook}`);
  const ran = start();
  await givesToken(ran);
  await ran.sees(/to a webhook at example\.org/);
  await ran.sees(/Remove the webhook\?/);
  expect(ran.shown()).not.toContain('secret-path');
  expect(telegram.calls.some(({ method }) => method === 'deleteWebhook')).toBe(false);
  ran.presses(`y`);
  await ran.sees(/Remove the webhook/);
  await telegram.waitForCall(({ method, ok }) => method === 'deleteWebhook' && ok);
});

test('a second reader of the messages is explained, and the id can be typed; a group for alerts is learnt from the code', async () => {
  const ran = start();
  await givesToken(ran);
  await ran.sees(/Waiting for the message/);
  await untilListening();
  await fetch(`${telegram.url}/bot${TOKEN}/getUpdates?timeout=0`);
  await ran.sees(/Another program is reading the messages of this bot/);
  await ran.sees(/Stop/);
  ran.presses(`${DOWN}${ENTER}`);
  await ran.sees(/Your numeric Telegram id/);
  ran.types('-5');
  await ran.sees(/expected the number of a person/);
  ran.presses('\x7f\x7f1001\r');
  await ran.sees(/Where should alerts go[\s\S]*Nowhere/);
  ran.presses(`${DOWN}${ENTER}`);
  // In privacy mode, too.
  const [, code] = await ran.sees(/\?startgroup=(\d{8})[\s\S]*Waiting/);
  telegram.say(-77, `/start@spillway_stand_in_bot ${code}`, { fromId: OWNER });
  await ran.sees(/The test message has arrived/);
  expect(telegram.shown(-77)).toHaveLength(1);
});

test('a key that the model refuses is named without being shown, and can be replaced', async () => {
  await writeFile(file, `TELEGRAM_BOT_TOKEN=${TOKEN}\nTELEGRAM_ALLOWED_IDS=1001\nTELEGRAM_ALERT_CHAT_ID=none\n`);
  const ran = start();
  await keeps(ran, 3);
  await givesWatchers(ran, 'https://example.org/ping/a-b', 'https://example.org/hook');
  await givesModel(ran, 'sk-ant-the-wrong-key');
  await ran.sees(/does not accept our API key .*status 401\); check ANTHROPIC_API_KEY/);
  await ran.sees(/Enter another key/);
  ran.presses(ENTER);
  await ran.sees(/The API key of the model/);
  ran.types(KEY);
  await ran.sees(/The model answers/);
  await finishes(ran);
  expect(await readFileEnv()).toMatchObject({
    ANTHROPIC_API_KEY: KEY,
    DEADMAN_URL: 'https://example.org/ping/a-b',
    ALERT_WEBHOOK_URL: 'https://example.org/hook',
  });
  expect(ran.shown()).not.toContain('sk-ant-the-wrong-key');
});

test('an existing file keeps its other lines and comments; a value changes only where that was wanted', async () => {
  await writeFile(file, OLD);
  await chmod(file, 0o644);
  const ran = start();
  await keeps(ran, 3);
  await givesWatchers(ran);
  await ran.sees(/ANTHROPIC_API_KEY is set\. Keep it\?/);
  ran.presses('n');
  await ran.sees(/The API key of the model/);
  ran.types(KEY);
  await ran.sees(/The address of the model/);
  ran.presses(ENTER);
  await ran.sees(/The model\n/);
  ran.types('\x15claude-haiku-4-5');
  await ran.sees(/The model answers: claude-haiku-4-5/);
  await ran.sees(/The time zone/);
  ran.types('\x15UTC');
  await ran.sees(/ANTHROPIC_API_KEY {2}\(not shown; replaces what is there\)[\s\S]*Write these settings\?/);
  ran.presses(ENTER);
  expect(await ran.ended).toBe(0);
  expect(await readFile(file, 'utf8')).toBe(
    `${OLD.replace('old-key', KEY)}MODEL=claude-haiku-4-5\nTELEGRAM_API_ROOT=${telegram.url}\nANTHROPIC_BASE_URL=${claude.url}\n`,
  );
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['.env']);
});

test('Ctrl-C leaves the old file as it was, at a question and while a message is waited for', async () => {
  await writeFile(file, OLD);
  const asked = start();
  await keeps(asked, 3);
  await answersPairing(asked);
  await asked.sees(/DEADMAN_URL \(Enter/);
  asked.types('not an address');
  await asked.sees(/expected an http or https URL/);
  asked.presses(`\x15${ENTER}`);
  await asked.sees(/ALERT_WEBHOOK_URL \(Enter/);
  asked.presses(ENTER);
  await asked.sees(/ANTHROPIC_API_KEY is set/);
  asked.presses(CTRL_C);
  await asked.sees(/Nothing was written/);
  expect(await asked.ended).toBe(130);
  expect(await readFile(file, 'utf8')).toBe(OLD);
  const waiting = start();
  await waiting.sees(/BOT_TOKEN is set/);
  waiting.presses(ENTER);
  await waiting.sees(/Replace it/);
  waiting.presses(`${DOWN}${ENTER}`);
  await waiting.sees(/Waiting for the message/);
  await untilListening();
  waiting.presses(CTRL_C);
  await waiting.sees(/Nothing was written/);
  expect(await waiting.ended).toBe(130);
  expect(await readFile(file, 'utf8')).toBe(OLD);
  expect(readdirSync(folder)).toEqual(['.env']);
});

test('without a terminal, without a file to write, and with a file that is malformed, it exits 2 and says what to do', async () => {
  const env = environment();
  expect(await runFile(SETUP, [], env, { input: 'y\n' })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/needs a terminal\. Without one, copy \.env\.example to \.env/),
  });
  expect(await runFile(SETUP, [], { ...env, SPILLWAY_ENV_FILE: 'none' })).toMatchObject({ code: 2 });
  await writeFile(file, 'nonsense\n');
  expect(await runFile(SETUP, [], env)).toMatchObject({ code: 2, stderr: expect.stringMatching(/line 1.*Fix that/s) });
  expect(telegram.calls).toEqual([]);
});
