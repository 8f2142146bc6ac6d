import { afterEach, expect, test } from '@jest/globals';
import type { Service } from '../../shared/base/lifecycle.ts';
import { chatKey } from '../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { createWorld, startGateway, type World } from '../fixture/gateway.ts';
import { conversation } from '../fixture/history.ts';
import { nextOutcome } from '../fixture/ledger.ts';
import type { ClaudeCall } from '../stand-in/claude/reaction.ts';

const CHAT = 1001;
const SUMMARY = 'They spoke of files, one after the other.';
const isSummary = ({ kind, pendingText }: ClaudeCall) =>
  kind === 'compaction' || /Write the working summary of this conversation/.test(pendingText);

let world: World;
let gateway: Service;

afterEach(async () => {
  await gateway.stop();
  await world.close();
});

/** A chat whose next answer makes its session nearly full, and the calls for the summary that follows. */
async function summaries(env: Record<string, string>, said: string = SUMMARY): Promise<ClaudeCall[]> {
  world = await createWorld({ claude: { windowTokens: 60_000 }, env: { COMPACT_AT: '0.4', ...env } });
  gateway = await startGateway(world);
  const lines = await parseLines(conversation(60, 1_000));
  await importSession(world.peek, world.keys, chatKey(CHAT), lines);
  world.claude.react((call) => (isSummary(call) ? { do: 'answer', text: said } : undefined));
  world.telegram.say(CHAT, 'Fill it up');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'And after that?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
  return world.claude.calls.filter(isSummary);
}

const lastRequest = () => JSON.stringify(world.claude.calls.at(-1)?.body.messages);

test('with COMPACTION_FROM_CACHE a summary reads the conversation from the cache, for less than half the cost', async () => {
  const [plain] = await summaries({});
  expect(plain?.kind).toBe('compaction');
  await gateway.stop();
  await world.close();
  const [cached, ...more] = await summaries({ COMPACTION_FROM_CACHE: 'true' });
  expect(more).toEqual([]);
  expect(cached?.usage?.cache_read_input_tokens ?? 0).toBeGreaterThan((cached?.inputTokens ?? 0) * 0.9);
  expect(cached?.usd ?? Number.NaN).toBeLessThan((plain?.usd ?? 0) / 2);
  expect(lastRequest()).toContain(SUMMARY);
});

test('an empty summary from the cache is followed by one from a transcript', async () => {
  const asked = await summaries({ COMPACTION_FROM_CACHE: 'true' }, ' ');
  expect(asked.slice(0, 2).map(({ kind }) => kind)).toEqual(['main', 'compaction']);
});

test('another COMPACTION_MODEL reads a transcript, because it has no cache of the conversation', async () => {
  const asked = await summaries({ COMPACTION_FROM_CACHE: 'true', COMPACTION_MODEL: 'claude-haiku-4-5' });
  expect(asked.map(({ kind }) => kind)).toEqual(['compaction']);
});
