import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { namedUsage } from '../../../worker/cli/verb.ts';
import { VERBS } from '../../../worker/cli/verbs.ts';
import { runCli } from '../../fixture/cli.ts';
import { runFile, spawnFile } from '../../fixture/command.ts';
import { CHAT, eachInWorld, moveToWorld, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT, startGateway } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';

const CLI = 'worker/cli/main.ts';

eachInWorld();

const DAY_MS = 24 * 3600_000;

function cli(args: readonly string[], env: Record<string, string> = world.env, input?: string) {
  return runFile(CLI, args, env, input === undefined ? {} : { input });
}

test('check tries every connection and starts nothing', async () => {
  const ended = await cli(['check', '--json']);
  expect(ended).toMatchObject({ code: 0 });
  const { parts } = JSON.parse(ended.stdout);
  const named = ['redis', 'redis settings', 'worker', 'blobs', 'telegram', 'groups', 'alerts', 'model'];
  const others = ['lifecycle of claude-opus-5-5', 'room', 'money', 'second channel', "dead-man's switch"];
  expect(parts.map(({ part, ok }: { part: string; ok: boolean }) => ok && part)).toEqual([...named, ...others]);
  const methods = world.telegram.calls.map(({ method }) => method);
  expect(methods.toSorted()).toEqual(['getMe', 'getWebhookInfo', 'sendChatAction']);
  expect(world.claude.calls).toHaveLength(1);
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  const [redis, settings, worker, blobs, , , alerts, model] = parts.map(({ detail }: { detail: string }) => detail);
  expect(redis).toMatch(/^master, takes writes, \d+ MB used of \d+ MB$/);
  expect(settings).toMatch(/^appendfsync is no: .*; CONFIG SET appendfsync always, and put it into redis.conf$/);
  expect(worker).toBe('none runs now');
  expect(blobs).toBe(`${world.blobFolder}, takes files; workers on other machines need the same`);
  expect(alerts).toBe("the operator's chat can be written to");
  expect(model).toMatch(/window \d+ tokens; a call of a few tokens went through$/);
});

test('check warns where CONTEXT_WINDOW_TOKENS is more than the endpoint states', async () => {
  const { code, stdout } = await runCli(['check'], { ...world.env, CONTEXT_WINDOW_TOKENS: '5000000' });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^advice model: .*CONTEXT_WINDOW_TOKENS is 5000000 and wins, so requests above \d+ may be refused/m,
  );
});

test('check says how long each model lives that a setting names, and fails for one that is retired', async () => {
  const [soon, later] = [new Date(Date.now() + 9.5 * DAY_MS), new Date(Date.now() - DAY_MS)];
  world.claude.lives
    .set('soon', { lifecycle: 'deprecated', retires_at: soon.toISOString() })
    .set('late', { lifecycle: 'deprecated', retires_at: later.toISOString() })
    .set('odd', { lifecycle: 'eternal', retires_at: 'soon' })
    .set('gone', { lifecycle: 'retired', retires_at: later.toISOString() });
  const named = { MODELS: 'soon,late,odd', COMPACTION_MODEL: 'soon', FALLBACK_MODEL: 'odd' };
  const sound = await runCli(['check'], { ...world.env, ...named });
  expect(sound.code).toBe(0);
  expect(sound.stdout.split('\n').filter((line) => line.includes('lifecycle'))).toEqual([
    'ok     lifecycle of claude-opus-5-5: MODEL; active',
    'ok     lifecycle of odd: FALLBACK_MODEL, MODELS; the endpoint does not say',
    `advice lifecycle of soon: COMPACTION_MODEL, MODELS; deprecated, to be retired on ${soon.toISOString().slice(0, 10)}, in 10 days`,
    `advice lifecycle of late: MODELS; deprecated, to be retired on ${later.toISOString().slice(0, 10)}, which has passed`,
  ]);
  const failing = await runCli(['check'], { ...world.env, FALLBACK_MODEL: 'gone' });
  expect(failing.code).toBe(1);
  expect(failing.stdout).toMatch(
    /FAILED lifecycle of gone: FALLBACK_MODEL; retired, calls of it fail; name another model/,
  );
});

test('check names what is wrong with an endpoint, a Redis or a chat that answers but does not work', async () => {
  world.claude.react(() => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'secret internals' }));
  world.telegram.fail('sendChatAction', { status: 400, description: 'Bad Request: chat not found' }, 1);
  await world.peek.config('SET', 'maxmemory', '1');
  const ended = await runCli(['check'], world.env);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/FAILED redis: answers, but takes no writes: OOM command not allowed/);
  expect(ended.stdout).toMatch(/FAILED alerts: TELEGRAM_ALERT_CHAT_ID cannot be written to \(gone: .*chat not found/);
  expect(ended.stdout).toMatch(
    /FAILED model: .*the endpoint at http:\S+ is overloaded or fails \(overloaded, status 529\)/,
  );
  expect(ended.stdout).not.toContain('secret internals');
});

test('check reports the model calls, polls and alerts of a running gateway, with their times', async () => {
  const gateway = await startGateway(world, { watchEveryMs: 100 });
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  await until(
    'the note of a call',
    async () => (await world.peek.hget(world.keys.provider, 'lastAnswerMs')) ?? undefined,
  );
  const { stdout } = await runCli(['check'], world.env);
  expect(stdout).toMatch(/^ok {4} worker: 1 process; 0 messages waiting$/m);
  expect(stdout).toMatch(/^ok {4} gateway's calls of the model: last answered \d{4}-\d\d-\d\d [\d:]+ UTC$/m);
  expect(stdout).toMatch(/^ok {4} gateway's alerts: none was sent yet$/m);
  await world.peek.hset(world.keys.poll, 'unauthorizedMs', Date.now() + 60_000);
  const refused = await runCli(['check'], world.env);
  expect(refused.stdout).toMatch(/^FAILED gateway's polls: does not accept the bot token \(.* UTC\); last answered/m);
  await gateway.stop();
});

test('check reports whether messages come by polls or by webhook, and what a start would change', async () => {
  const telling = async (env: Record<string, string> = {}) =>
    (await runCli(['check'], { ...world.env, ...env })).stdout;
  const hook = { TELEGRAM_WEBHOOK_URL: 'http://127.0.0.1:9/hook', TELEGRAM_WEBHOOK_SECRET: 'a_secret'.repeat(4) };
  expect(await telling()).toMatch(/ok {4} telegram: the bot is @\w+; it is polled$/m);
  expect(await telling(hook)).toMatch(/the webhook is not set yet, a start will set it$/m);
  const url = encodeURIComponent(hook.TELEGRAM_WEBHOOK_URL);
  await fetch(`${world.telegram.url}/bot${world.telegram.token}/setWebhook?url=${url}`);
  expect(await telling()).toMatch(/it will be polled, and a webhook that is set will be removed$/m);
  expect(await telling(hook)).toMatch(/messages come in by webhook$/m);
  world.telegram.say(CHAT, 'nobody listens there');
  await until('failed delivery', () => world.telegram.deliveries[0]);
  expect(await telling(hook)).toMatch(/1 message could not be delivered \(Connection refused\)$/m);
  expect(world.telegram.pending()).toBe(1);
});

test('check reports whether privacy mode hides mentions, and when that contradicts a setting', async () => {
  await moveToWorld({ telegram: { privacy: 'on' } });
  const telling = async (all: string) =>
    (await runCli(['check'], { ...world.env, TELEGRAM_ANSWER_ALL_IDS: all })).stdout;
  expect(await telling('')).toMatch(/groups: privacy mode is on: the bot sees .* no mentions$/m);
  expect(await telling('-1001')).toMatch(
    /^advice groups: .*TELEGRAM_ANSWER_ALL_IDS has no effect: send \/setprivacy to BotFather/m,
  );
});

test('check names each failed connection and its reason, and prints no secret', async () => {
  const token = '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
  const ended = await runCli(['check'], { ...world.env, TELEGRAM_BOT_TOKEN: token, REDIS_URL: 'redis://127.0.0.1:1' });
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/FAILED redis: Redis did not answer/);
  expect(ended.stdout).toMatch(/FAILED telegram: TELEGRAM_BOT_TOKEN is not accepted/);
  expect(ended.stdout + ended.stderr).not.toContain(token);
});

test('an imported session is the conversation that the model sees, and is exported unchanged', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'session.jsonl');
  const lines = conversation(5, 80);
  await writeFile(file, `${lines.join('\n')}\n`);
  const imported = await runCli(['session', 'import', String(CHAT), file], world.env);
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining('10 records') });
  const exported = await runCli(['session', 'export', String(CHAT)], world.env);
  const pick = (line: string) => {
    const { role, content, at } = JSON.parse(line);
    return { role, content, at };
  };
  expect(exported.stdout.trim().split('\n').map(pick)).toEqual(lines.map(pick));
  const gateway = await startGateway(world);
  world.telegram.say(CHAT, 'and on we go');
  await nextOutcome(world, CHAT);
  await gateway.stop();
  expect(world.claude.calls[0]?.body.messages).toHaveLength(11);
  const shown = await runCli(['session', 'show', String(CHAT), '--json'], world.env);
  expect(JSON.parse(shown.stdout)).toMatchObject({ chat: String(CHAT), entries: '12', records: 12 });
});

test('session import accepts the chat key of a topic', async () => {
  const ended = await cli(['session', 'import', '-1009.7'], world.env, conversation(1, 20).join('\n'));
  expect(ended.code).toBe(0);
  expect(await world.peek.hget(world.keys.chat(chatKey(-1009, 7)), 'session')).toMatch(/^s-/);
});

test('each verb that the help names is there in the program that a user starts, and prints its own help', async () => {
  const { stdout } = await cli(['help'], {});
  const verbs = [...stdout.matchAll(/^ {2}([a-z|]+)/gm)].flatMap(([, names = '']) => names.split('|'));
  expect(verbs.length).toBeGreaterThan(10);
  const ended = await Promise.all(
    [...new Set(verbs)].map(async (verb) => ({ verb, ...(await cli([verb, '--help'], {})) })),
  );
  for (const { verb, ...seen } of ended) {
    const help = expect.stringContaining(`Usage: npm run cli -- ${verb}`);
    expect({ verb, ...seen }).toEqual({ verb, code: 0, stdout: help, stderr: '' });
  }
});

test('the README has the row of each verb', async () => {
  const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'README.md'), 'utf8');
  const rows = VERBS.map(
    (verb) => `| \`npm run cli -- ${namedUsage(verb).replaceAll('|', '\\|')}\` | ${verb.summary} |`,
  );
  expect(page).toContain(rows.join('\n'));
});

test('input that a verb does not read is no error', async () => {
  const ended = await runFile(CLI, ['help'], {}, { input: 'x'.repeat(1_000_000) });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage'), stderr: '' });
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

test('session export ends with the last line that is read', async () => {
  await cli(['session', 'import', String(CHAT)], world.env, conversation(50, 20).join('\n'));
  const { code, stdout } = await runCli(['session', 'export', String(CHAT)], world.env, { linesRead: 3 });
  expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 0, lines: 3 });
});

test('arguments that are wrong exit 2, say what was expected, and change nothing', async () => {
  await world.peek.xadd(world.keys.dead, '5-0', 'entry', '1-0', 'record', '{}', 'chat', '1001', 'message', '{}');
  const lines = [
    ...['session', 'session show', 'session dance 1', 'fly', 'audit --days 0', 'audit --days 91', 'audit --days all'],
    ...['audit --week', 'status --wings', 'status now', 'status --watch --every x', 'status --every 5'],
    ...['incidents --wings', 'incidents one', 'pause bob', 'pause 1 2', 'resume --all', 'actions --limit 0'],
    ...[
      'message',
      'message hello',
      'message 1-0 2-0',
      'message --wings',
      'chat',
      'chat bob',
      'chat 1 2',
      'chat 1 --wings',
    ],
    ...['retry', 'retry hello', 'retry 1-0 --wings', 'cancel', 'cancel hello', 'cancel 1-0 2-0', 'cancel 1001 --wings'],
    ...['allow --remove', 'allow 1 2', 'dead', 'dead replay', 'dead replay 1-0 --all', 'dead replay --all --limit 1'],
    ...['dead show', 'dead show x', 'dead show 5-0 --chat 1001', 'dead list x', 'dead list --limit x', 'dead list 5-0'],
    ...['dead list --content', 'dead list --since yesterday', 'dead list --chat bob', 'dead list --wings', 'dead fly'],
    ...['dead purge', 'dead purge --all', 'dead purge --all --yes --limit 1', 'dead purge --before 0'],
    'dead purge --all --chat 1001',
  ];
  for (const line of lines) {
    const { code, stdout, stderr } = await runCli(line.split(' '), world.env);
    const expected = expect.stringMatching(/Usage: npm run cli -- |The verbs are|add --yes/);
    expect({ line, code, stdout, stderr }).toEqual({ line, code: 2, stdout: '', stderr: expected });
  }
  expect(await world.peek.dbsize()).toBe(1);
});

test.each([
  ['dead show x', /“x” is not a valid argument: expected the id of a dead letter/],
  ['message x', /“x” is not a valid argument: expected an entry, .* a trace id/],
  ['chat x', /“x” is not a valid argument: expected a chat: its number/],
  ['audit --days 0', /--days is a whole number from 1 to 90, and not "0"/],
])('%s is refused with what was expected', async (line, words) => {
  expect((await runCli(line.split(' '), world.env)).stderr).toMatch(words);
});

test('an id of which nothing is kept exits 1, says what ids look like, and is not written down', async () => {
  for (const verb of ['message', 'retry', 'cancel'])
    for (const id of ['1700000000000-0', '0af7651916cd43dd8448eb211c80319c'])
      expect(await runCli([verb, id], world.env)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/such as 17/),
      });
  const chat = await runCli(['chat', '-100777'], world.env);
  expect(chat).toMatchObject({ code: 1, stderr: expect.stringMatching(/Nothing is known .*numeric id/) });
  expect(await world.peek.exists(world.keys.actions)).toBe(0);
});

test('session reset keeps the old session and binds the chat to a new one', async () => {
  await cli(['session', 'import', String(CHAT)], world.env, '{"role":"user","content":"remember 4711"}');
  const bound = () => world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session');
  const before = (await bound()) as SessionId;
  const { code, stdout } = await runCli(['session', 'reset', String(CHAT), '--json'], world.env);
  const after = await bound();
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ chat: String(CHAT), session: after, parent: before });
  expect(after).not.toBe(before);
  expect(await world.peek.hget(world.keys.session(before), 'closedBy')).toBe(after);
  expect(await world.peek.llen(world.keys.log(before))).toBe(1);
});

test('session reset exits 1 for a chat without a session', async () => {
  const ended = await runCli(['session', 'reset', String(CHAT)], world.env);
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/has no session yet/) });
});
