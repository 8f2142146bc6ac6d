import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { synopsisOf } from '../../../worker/cli/verb.ts';
import { VERBS } from '../../../worker/cli/verbs.ts';
import { runCli } from '../../fixture/cli.ts';
import { runFile, spawnFile } from '../../fixture/command.ts';
import { CHAT, eachInWorld, world } from '../../fixture/each-test.ts';
import { startGateway } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import { ask } from '../../fixture/whole-chat.ts';

const CLI = 'worker/cli/main.ts';

eachInWorld();

function cli(args: readonly string[], env: Record<string, string> = world.env, input?: string) {
  return runFile(CLI, args, env, input === undefined ? {} : { input });
}

test('an imported session is the conversation that the model sees, and is exported unchanged', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'session.jsonl');
  const lines = conversation(5, 80);
  await writeFile(file, `${lines.join('\n')}\n`);
  const imported = await runCli(['session', 'import', String(CHAT), file], world.env);
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining('records: 10') });
  const exported = await runCli(['session', 'export', String(CHAT)], world.env);
  const pick = (line: string) => {
    const { role, content, at } = JSON.parse(line);
    return { role, content, at };
  };
  expect(exported.stdout.trim().split('\n').map(pick)).toEqual(lines.map(pick));
  const gateway = await startGateway(world);
  await ask('and on we go');
  await gateway.stop();
  expect(world.claude.calls[0]?.body.messages).toHaveLength(11);
  const shown = await runCli(['session', 'show', String(CHAT), '--json'], world.env);
  expect(JSON.parse(shown.stdout)).toMatchObject({ chat: String(CHAT), entries: '12', records: 12 });
});

test('each verb that the help names prints its own help, also in the program that a user starts', async () => {
  // Input that a verb does not read is no error.
  const { code, stdout, stderr } = await cli(['help'], {}, 'x'.repeat(1_000_000));
  expect([code, stderr]).toEqual([0, '']);
  const verbs = [...stdout.matchAll(/^ {2}([a-z|]+)/gm)].flatMap(([, names = '']) => names.split('|'));
  expect(verbs.length).toBeGreaterThan(10);
  const usage = (verb: string) => expect.stringContaining(`Usage: npm run cli -- ${verb}`);
  const helpOf = (verb: string) => ({ code: 0, stdout: usage(verb), stderr: '' });
  for (const verb of new Set(verbs))
    expect({ verb, ...(await runCli([verb, '--help'], {})) }).toEqual({ verb, ...helpOf(verb) });
  expect(await cli(['session', '--help'], {})).toEqual(helpOf('session'));
});

test('the page of commands has the row of each verb', async () => {
  const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'commands.md'), 'utf8');
  const rows = VERBS.map((verb) => `| \`${synopsisOf(verb).replaceAll('|', '\\|')}\` | ${verb.summary} |`);
  expect(page).toContain(rows.join('\n'));
});

variants([
  ['session export, which is not over yet', ['session', 'export', String(CHAT)]],
  ['status --watch, which has no end', ['status', '--watch', '--every', '1']],
])('%s, says nothing and ends well when its reader leaves, as head does', async (_, args) => {
  const lines = Array.from({ length: 3_000 }, (_, at) =>
    JSON.stringify({ role: 'user', content: `${at} ${'x'.repeat(100)}` }),
  );
  await cli(['session', 'import', String(CHAT)], world.env, lines.join('\n'));
  const gateway = await startGateway(world, { watchEveryMs: 100 });
  await until('worker that says that it lives', async () => (await world.peek.zcard(world.keys.workers)) || undefined);
  const child = await spawnFile(CLI, args, world.env);
  child.stdout.once('data', () => child.stdout.destroy());
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await gateway.stop();
});

const EXPECTED: [line: string, words: RegExp][] = [
  ['dead show x', /“x” is not a valid argument: expected the id of a dead letter/],
  ['message x', /“x” is not a valid argument: expected an entry, .* a trace id/],
  ['chat x', /“x” is not a valid argument: expected the number of a chat/],
  ['audit --days 0', /--days must be a whole number from 1 to 90, not "0"/],
];

const WRONG = `session|session show|session dance 1|fly|audit --days 0|audit --days 91|audit --days all|audit --week
status --wings|status now|status --watch --every x|status --every 5|incidents --wings|incidents one|pause bob|pause 1 2
resume --all|actions --limit 0|message|message hello|message 1-0 2-0|message --wings|chat|chat bob|chat 1 2|chat 1 --wings
retry|retry hello|retry 1-0 --wings|cancel|cancel hello|cancel 1-0 2-0|cancel 1001 --wings|allow --remove|allow 1 2
dead|dead replay|dead replay 1-0 --all|dead replay --all --limit 1|dead show|dead show x|dead show 5-0 --chat 1001
dead list x|dead list --limit x|dead list 5-0|dead list --content|dead list --since yesterday|dead list --chat bob
dead list --wings|dead fly|dead purge|dead purge --all|dead purge --all --yes --limit 1|dead purge --before 0
dead purge --all --chat 1001`.split(/[|\n]/);

test('arguments that are wrong exit 2, say what was expected, and change nothing', async () => {
  await world.peek.xadd(world.keys.dead, '5-0', 'entry', '1-0', 'record', '{}', 'chat', '1001', 'message', '{}');
  for (const line of WRONG) {
    const stderr = expect.stringMatching(/Usage: npm run cli -- |The verbs are|add --yes/);
    expect({ line, ...(await runCli(line.split(' '), world.env)) }).toEqual({ line, code: 2, stdout: '', stderr });
  }
  expect(await world.peek.dbsize()).toBe(1);
  for (const [line, words] of EXPECTED) expect((await runCli(line.split(' '), world.env)).stderr).toMatch(words);
});

test('an id of which nothing is kept exits 1, says what ids look like, and is not written down', async () => {
  const unknown = { code: 1, stderr: expect.stringMatching(/such as 17/) };
  for (const verb of ['message', 'retry', 'cancel'])
    for (const id of ['1700000000000-0', '0af7651916cd43dd8448eb211c80319c'])
      expect(await runCli([verb, id], world.env)).toMatchObject(unknown);
  const chat = await runCli(['chat', '-100777'], world.env);
  expect(chat).toMatchObject({ code: 1, stderr: expect.stringMatching(/Nothing is known .*by its number/) });
  expect(await world.peek.exists(world.keys.actions)).toBe(0);
});

test('session reset keeps the old session and binds the chat to a new one; without a session it exits 1', async () => {
  const none = await runCli(['session', 'reset', '-1009.7'], world.env);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/has no session yet/) });
  await cli(['session', 'import', '-1009.7'], world.env, '{"role":"user","content":"remember 4711"}');
  const bound = () => world.peek.hget(world.keys.chat(chatKey(-1009, 7)), 'session');
  const before = (await bound()) as SessionId;
  const { code, stdout } = await runCli(['session', 'reset', '-1009.7', '--json'], world.env);
  const after = await bound();
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ chat: '-1009.7', session: after, parent: before });
  expect(after).not.toBe(before);
  expect(await world.peek.hget(world.keys.session(before), 'closedBy')).toBe(after);
  expect(await world.peek.llen(world.keys.log(before))).toBe(1);
});
