import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { runCli } from '../../fixture/cli.ts';
import { createWorld, startGateway, type World } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const CHAT = 1001;

let world: World;

beforeEach(async () => {
  world = await createWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });
});

afterEach(async () => {
  await world.close();
});

function audit(...args: string[]) {
  return runCli(['audit', ...args], world.env);
}

test('audit sums up outcomes, recoveries, tokens and cost, and proves that no message is unaccounted for', async () => {
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(100, 1_000)));
  const gateway = await startGateway(world);
  world.telegram.say(CHAT, 'What did we decide?');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, '/help');
  await nextOutcome(world, CHAT, 2);
  await gateway.stop();
  const { code, stdout } = await audit('--days', '1', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    days: 1,
    proof: { accepted: 2, settled: 2, pending: 0, unaccounted: 0 },
    outcomes: { total: 2, byOutcome: { answered: 1, command: 1 } },
    recoveries: { 0: 1, 1: 1 },
    latencyMs: { answered: 1 },
    contextSafety: { exceeded: { token: { refused: 1 } }, compacted: 1, newSessions: 0 },
    tokens: { answer: expect.any(Object), summary: expect.any(Object) },
    cost: {
      byPurpose: { answer: expect.any(Number), summary: expect.any(Number) },
      byModel: expect.any(Object),
      unpricedModels: [],
    },
    topChats: [{ chat: String(CHAT), messages: 2, calls: expect.any(Number), dollars: expect.any(Number) }],
  });
  const words = await audit();
  expect(words.stdout).toMatch(/accepted 2 - settled 2 - pending 0 = 0/);
  expect(words.stdout).toMatch(/Exceeded, token +refused 1/);
  expect(words.stdout).toMatch(new RegExp(`Chats that cost most\\n.*\\n {2}${CHAT} +2 `));
  expect(words.stdout).toMatch(/Cost +\$\d+\.\d+[\s\S]*By purpose: (?:answer|summary) \$\d/);
});

test('audit uses the prices in MODEL_PRICES_FILE, and exits 2 when the file is malformed or missing', async () => {
  const event = {
    event: 'model.answered',
    purpose: 'answer',
    model: 'llama',
    inputTokens: 2_000_000,
    outputTokens: 0,
    cacheReadTokens: 0,
  };
  await world.peek.xadd(world.keys.events, '*', 'record', JSON.stringify(event));
  expect((await audit()).stdout).toMatch(/no price is known for llama/);
  const dir = await mkdtemp(join(tmpdir(), 'prices-'));
  const file = join(dir, 'prices.json');
  world.env.MODEL_PRICES_FILE = file;
  await writeFile(file, '{"llama":{"input":3,"output":1,"cacheRead":1,"cacheWrite5m":1,"cacheWrite1h":1}}');
  expect((await audit()).stdout).toMatch(/Cost +\$6\.00[\s\S]*By purpose: answer \$6\.00/);
  await writeFile(file, '{"llama":{"input":"cheap"}}');
  expect(await audit()).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/MODEL_PRICES_FILE is malformed:\nllama\.input: /),
  });
  await rm(dir, { recursive: true });
  expect(await audit()).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/MODEL_PRICES_FILE names a file that is empty/),
  });
});

test('audit exits 1 when a message has no outcome', async () => {
  const gateway = await startGateway(world);
  world.telegram.say(CHAT, 'Hello');
  await nextOutcome(world, CHAT);
  await gateway.stop();
  await world.peek.hincrby(world.keys.counts, 'accepted', 1);
  const { code, stdout } = await audit();
  expect(code).toBe(1);
  expect(stdout).toMatch(/= 1\n {2}1 went without an outcome/);
});

test('audit exits 1 when two shards are off by opposite amounts, and names both', async () => {
  world.env.SHARDS = '2';
  await world.peek.hset(keysOf(0).counts, 'accepted', 1);
  await world.peek.hset(keysOf(1).counts, 'accepted', 0, 'settled', 1);
  const { code, stdout } = await audit('--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout).proof).toMatchObject({ unaccounted: 0, failedShards: [0, 1] });
  expect((await audit()).stdout).toMatch(/shards cancel each other out \(shard 0, 1\)/);
});

test('audit counts damaged records as unreadable and still reads the others', async () => {
  const good = { outcome: 'answered', attempts: 1, recoveries: 0, settledAtMs: 1, traceId: '' };
  await world.peek.xadd(world.keys.outcomes, '*', 'outcome', 'failed');
  await world.peek.xadd(world.keys.outcomes, '*', 'record', JSON.stringify(good));
  for (const record of ['{"torn', 'null']) await world.peek.xadd(world.keys.events, '*', 'record', record);
  const { code, stdout } = await audit('--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ outcomes: { total: 1 }, unreadable: 3 });
  expect((await audit()).stdout).toMatch(/Unreadable +3 records/);
});

test('audit reads 2,345 outcomes, more than a page', async () => {
  const pipeline = world.peek.pipeline();
  const record = { outcome: 'answered', attempts: 1, recoveries: 0, settledAtMs: 1, traceId: '' };
  for (let n = 0; n < 2_345; n++) pipeline.xadd(world.keys.outcomes, '*', 'record', JSON.stringify(record));
  await pipeline.exec();
  expect(JSON.parse((await audit('--json')).stdout)).toMatchObject({ outcomes: { total: 2_345 } });
});
