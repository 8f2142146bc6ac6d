import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readHeartbeat } from '../../../shared/state/process/receiver.ts';
import { eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { portOf } from '../../fixture/process.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';
import { DOWN, ENTER, runInTerminal, type TerminalProgram } from '../../fixture/terminal.ts';

eachInWorld();

const NEW = 4711;
let file: string;
let env: string;
let setup: TerminalProgram | undefined;

beforeEach(async () => {
  file = join(await temporaryFolder(), '.env');
  const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: root } = world.env;
  env = `TELEGRAM_BOT_TOKEN=${token}\nTELEGRAM_API_ROOT=${root}\nTELEGRAM_ALLOWED_IDS=1001\nTELEGRAM_ALERT_CHAT_ID=none\n`;
});

afterEach(() => setup?.stop());

const accepted = async () => Number(await world.peek.hget(world.keys.counts, 'accepted'));

/** Starts setup with these settings and chooses to add somebody. */
async function addSomebody(settings: string): Promise<TerminalProgram> {
  await writeFile(file, `${env}${settings}\n`);
  const ran = runInTerminal('setup/main.ts', { SPILLWAY_ENV_FILE: file });
  setup = ran;
  await ran.sees(/BOT_TOKEN is set/);
  ran.presses(ENTER);
  await ran.sees(/Replace it/);
  ran.presses(`${DOWN}${ENTER}`);
  return ran;
}

async function typesId(ran: TerminalProgram): Promise<void> {
  await ran.sees(/Waiting for the message|Another program/);
  await expectUndisturbed();
  await ran.sees(/npm run cli -- allow <id>[\s\S]*Stop/);
  ran.presses(`${DOWN}${ENTER}`);
  await ran.sees(/Their numeric Telegram id/);
  ran.types(String(NEW));
}

/** The gateway polls on and was never told that somebody else polls. */
async function expectUndisturbed(): Promise<void> {
  const polls = () => world.telegram.calls.filter(({ method }) => method === 'getUpdates');
  const before = polls().length;
  world.telegram.say(1001, 'are you there?');
  await until('poll', () => polls()[before]);
  expect(polls().filter(({ status }) => status === 409)).toEqual([]);
  expect((await readHeartbeat(world.peek, world.keys))?.conflictMs).toBeUndefined();
}

test('setup beside a running gateway reads no messages, and lets somebody in at once', async () => {
  await spawn();
  const ran = await addSomebody(`REDIS_URL=${world.redis.url}`);
  await typesId(ran);
  await ran.sees(/Let 4711 in now, without a restart/);
  ran.presses(ENTER);
  await ran.sees(/4711 is let in within a second/);
  await ran.sees(/ALERT_CHAT_ID is set: none/);
  await expectUndisturbed();
  // A list of people that was read is used for a second.
  await until('acceptance', async () => {
    const before = await accepted();
    const at = world.telegram.say(NEW, 'hello');
    await until('poll', () => world.telegram.confirmedUpTo() >= at || undefined);
    return (await accepted()) > before || undefined;
  });
  await until('answer', () => world.telegram.shown(NEW)[0]);
  expect(await readFile(file, 'utf8')).toContain('TELEGRAM_ALLOWED_IDS=1001\n');
});

test('a gateway whose Redis setup cannot reach is noticed at its port', async () => {
  const gateway = await spawn();
  const ran = await addSomebody(`HTTP_PORT=${portOf(gateway)}`);
  await typesId(ran);
  await ran.sees(/Let 4711 in now/);
  ran.presses(ENTER);
  await ran.sees(/4711 is added\./);
  await expectUndisturbed();
});
