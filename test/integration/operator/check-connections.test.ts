import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { runFile } from '../../fixture/command.ts';
import { CHAT, eachInWorld, moveToWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { freshRedis } from '../../fixture/redis.ts';
import { replicate, untilCaughtUp } from '../../fixture/replicas.ts';
import { until } from '../../fixture/root.ts';

/** What `check` says of Redis, Telegram, the model and a gateway that runs. */

eachInWorld();

const DAY_MS = 24 * 3600_000;
const AS_RECOMMENDED = /^ok {4} redis settings: as recommended$/m;

/** Runs `check` with some settings besides those of the world, and holds it to an exit code and to lines. */
async function expectCheck(env: Record<string, string>, code: number, ...lines: RegExp[]): Promise<string> {
  const ended = await runCli(['check'], { ...world.env, ...env });
  for (const line of lines) expect(ended.stdout).toMatch(line);
  expect(ended.code).toBe(code);
  return ended.stdout + ended.stderr;
}

test('check tries every connection and starts nothing', async () => {
  const ended = await runFile('worker/cli/main.ts', ['check', '--json'], world.env);
  expect(ended).toMatchObject({ code: 0 });
  const { parts } = JSON.parse(ended.stdout);
  const named = ['redis', 'redis settings', 'worker', 'blobs', 'telegram', 'groups', 'alerts', 'model'];
  const others = ['lifecycle of claude-opus-5-5', 'room', 'money', 'second channel', "dead-man's switch"];
  expect(parts.map(({ part, ok }: { part: string; ok: boolean }) => ok && part)).toEqual([...named, ...others]);
  const methods = world.telegram.calls.map(({ method }) => method);
  expect(methods.toSorted()).toEqual(['getMe', 'getWebhookInfo', 'sendChatAction']);
  expect([world.claude.calls.length, world.telegram.shown(ALERT_CHAT)]).toEqual([1, []]);
  expect(parts.slice(0, 8).map(({ detail }: { detail: string }) => detail)).toEqual([
    expect.stringMatching(/^master, takes writes, \d+ MB used of \d+ MB$/),
    expect.stringMatching(/^appendfsync is no: .*; CONFIG SET appendfsync always, and put it into redis.conf$/),
    'none runs now',
    `${world.blobFolder}, takes files; workers on other machines need the same`,
    ...[expect.any(String), expect.any(String)],
    "the operator's chat can be written to",
    expect.stringMatching(/window \d+ tokens; a call of a few tokens went through$/),
  ]);
});

test('check says how long each model lives that a setting names, and fails for one that is retired', async () => {
  const [soon, later] = [new Date(Date.now() + 9.5 * DAY_MS), new Date(Date.now() - DAY_MS)];
  world.claude.lives
    .set('soon', { lifecycle: 'deprecated', retires_at: soon.toISOString() })
    .set('late', { lifecycle: 'deprecated', retires_at: later.toISOString() })
    .set('odd', { lifecycle: 'eternal', retires_at: 'soon' })
    .set('gone', { lifecycle: 'retired', retires_at: later.toISOString() });
  const named = { MODELS: 'soon,late,odd', COMPACTION_MODEL: 'soon', FALLBACK_MODEL: 'odd' };
  const sound = await expectCheck(named, 0);
  expect(sound.split('\n').filter((line) => line.includes('lifecycle'))).toEqual([
    'ok     lifecycle of claude-opus-5-5: MODEL; active',
    'ok     lifecycle of odd: FALLBACK_MODEL, MODELS; the endpoint does not say',
    `advice lifecycle of soon: COMPACTION_MODEL, MODELS; deprecated, to be retired on ${soon.toISOString().slice(0, 10)}, in 10 days`,
    `advice lifecycle of late: MODELS; deprecated, to be retired on ${later.toISOString().slice(0, 10)}, which has passed`,
  ]);
  const retired = /FAILED lifecycle of gone: FALLBACK_MODEL; retired, calls of it fail; name another model/;
  await expectCheck({ FALLBACK_MODEL: 'gone' }, 1, retired);
});

test('check names each connection that fails and its reason, one that answers but does not work, and prints no secret', async () => {
  const wins = /^advice model: .*CONTEXT_WINDOW_TOKENS is 5000000 and wins, so requests above \d+ may be refused/m;
  await expectCheck({ CONTEXT_WINDOW_TOKENS: '5000000' }, 0, wins);
  const token = '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
  const noRedis = /FAILED redis: Redis did not answer/;
  const noToken = /FAILED telegram: TELEGRAM_BOT_TOKEN is not accepted/;
  const away = { TELEGRAM_BOT_TOKEN: token, REDIS_URL: 'redis://127.0.0.1:1' };
  expect(await expectCheck(away, 1, noRedis, noToken)).not.toContain(token);
  world.claude.react(() => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'secret internals' }));
  world.telegram.fail('sendChatAction', { status: 400, description: 'Bad Request: chat not found' }, 1);
  await world.peek.config('SET', 'maxmemory', '1');
  const answering = [
    /FAILED redis: answers, but takes no writes: OOM command not allowed/,
    /FAILED alerts: TELEGRAM_ALERT_CHAT_ID cannot be written to \(gone: .*chat not found/,
    /FAILED model: .*the endpoint at http:\S+ is overloaded or failing \(overloaded, status 529\)/,
  ];
  expect(await expectCheck({}, 1, ...answering)).not.toContain('secret internals');
});

test('check reports the model calls, polls and alerts of a running gateway, with their times', async () => {
  await start({}, { watchEveryMs: 100 });
  world.telegram.say(CHAT, 'hello');
  await nextOutcome(world, CHAT);
  await until('a call', async () => (await world.peek.hget(world.keys.provider, 'lastAnswerMs')) ?? undefined);
  await expectCheck(
    {},
    0,
    /^ok {4} worker: 1 process; 0 messages waiting$/m,
    /^ok {4} gateway's calls of the model: last answered \d{4}-\d\d-\d\d [\d:]+ UTC$/m,
    /^ok {4} gateway's alerts: none was sent yet$/m,
  );
  await world.peek.hset(world.keys.poll, 'unauthorizedMs', Date.now() + 60_000);
  const refused = /^FAILED gateway's polls: does not accept the bot token \(.* UTC\); last answered/m;
  await expectCheck({}, 1, refused);
});

test('check reports whether messages come by polls or by webhook, and what a start would change', async () => {
  const hook = { TELEGRAM_WEBHOOK_URL: 'http://127.0.0.1:9/hook', TELEGRAM_WEBHOOK_SECRET: 'a_secret'.repeat(4) };
  await expectCheck({}, 0, /ok {4} telegram: the bot is @\w+; it is polled$/m);
  await expectCheck(hook, 0, /the webhook is not set yet, a start will set it$/m);
  const url = encodeURIComponent(hook.TELEGRAM_WEBHOOK_URL);
  await fetch(`${world.telegram.url}/bot${world.telegram.token}/setWebhook?url=${url}`);
  await expectCheck({}, 0, /it will be polled, and a webhook that is set will be removed$/m);
  await expectCheck(hook, 0, /messages come in by webhook$/m);
  world.telegram.say(CHAT, 'nobody listens there');
  await until('failed delivery', () => world.telegram.deliveries[0]);
  await expectCheck(hook, 0, /1 message could not be delivered \(Connection refused\)$/m);
  expect(world.telegram.pending()).toBe(1);
});

test('check reports whether privacy mode hides mentions, who may call the bot elsewhere, and what contradicts that', async () => {
  const calls = /ok {4} guests: 2 people may call the bot in chats that it is not part of$/m;
  expect(await expectCheck({ TELEGRAM_GUESTS: '' }, 0)).not.toMatch(/guests:/);
  await expectCheck({ TELEGRAM_GUESTS: '77, 78' }, 0, calls);
  for (const ids of ['*', '-100555', '77 78', '@somebody'])
    expect(await expectCheck({ TELEGRAM_GUESTS: ids }, 2)).toMatch(
      /TELEGRAM_GUESTS is malformed: expected ids of people/,
    );
  await moveToWorld({ telegram: { privacy: 'on', guests: 'off' } });
  const off = /guests: 1 person may call .* but guest mode is off in BotFather/;
  const contradicted = /^advice groups: .*TELEGRAM_ANSWER_ALL_IDS has no effect: send \/setprivacy to BotFather/m;
  await expectCheck({ TELEGRAM_ANSWER_ALL_IDS: '' }, 0, /groups: privacy mode is on: the bot sees .* no mentions$/m);
  await expectCheck({ TELEGRAM_ANSWER_ALL_IDS: '-1001', TELEGRAM_GUESTS: '77' }, 0, contradicted, off);
});

test('check advises on what a server has otherwise or does not tell, with the risk and what to do', async () => {
  await world.peek.acl('SETUSER', 'managed', 'on', '>word', '~*', '&*', '+@all', '-config');
  await expectCheck(
    { REDIS_URL: world.redis.url.replace('redis://', 'redis://managed:word@') },
    0,
    /^advice redis settings: the server does not tell some settings; make sure that it has maxmemory-policy noeviction, appendonly yes, appendfsync always$/m,
  );
  await world.peek.config('SET', 'appendonly', 'no');
  await expectCheck(
    {},
    0,
    /^advice redis settings: appendonly is no: .* loses all since its last snapshot; CONFIG SET appendonly yes.*; appendfsync is no: /m,
  );
  await world.peek.config('SET', 'appendonly', 'yes');
  await world.peek.config('SET', 'appendfsync', 'always');
  await expectCheck({}, 0, AS_RECOMMENDED);
  // A master with a replica is to ask for it, and not to count one that stands still.
  const replica = await freshRedis();
  try {
    await replicate(replica, world.redis);
    await untilCaughtUp(world.redis);
    const ask = /^advice redis settings: min-replicas-to-write is 0: .*; CONFIG SET min-replicas-to-write 1/m;
    await expectCheck({}, 0, ask);
    await world.peek.config('SET', 'min-replicas-to-write', '1');
    await expectCheck({}, 0, AS_RECOMMENDED);
  } finally {
    await replica.stop();
  }
});
