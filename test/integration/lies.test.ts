import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chatKey, type SessionId } from '../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { CHAT, eachInWorld, start, world } from '../fixture/each-test.ts';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { nextOutcome } from '../fixture/ledger.ts';
import { LIES, type Lie } from '../stand-in/claude/lies.ts';

const EXCHANGES = 40;
const SEQUENCES = 40;
const LIES_MAX = 6;
const DAY_MS = 24 * 3600_000;
const SEED = 26;

eachInWorld({ claude: { bindThinking: false }, env: { TELEGRAM_ALLOWED_IDS: '*' } });

/** Where the endpoint lies, and what it says: before the first round of tools, or after it. */
type Told = { lie: Lie; isAfterTool: boolean };
const told = fc.record({ lie: fc.constantFrom(...(Object.keys(LIES) as Lie[])), isAfterTool: fc.boolean() });

async function givenConversation(chat: number): Promise<SessionId> {
  const lines = Array.from({ length: EXCHANGES }, (_, at) => [
    JSON.stringify({ role: 'user', content: `Question number ${at} of chat ${chat}` }),
    JSON.stringify({ role: 'assistant', content: `Answer number ${at}: it is built with care` }),
  ]).flat();
  return importSession(world.peek, world.keys, chatKey(chat), await parseLines(lines));
}

const RECALL = { type: 'tool_use', id: 'toolu_1', name: 'recall', input: { query: 'house' } };

test('after any sequence of single lies of the endpoint a chat has all of its conversation, and has learnt nothing', async () => {
  const sequences = fc.sample(fc.array(told, { minLength: 1, maxLength: LIES_MAX }), {
    numRuns: SEQUENCES,
    seed: SEED,
  });
  const chats = sequences.map((_, at) => CHAT + at);
  const sessions = new Map<number, SessionId>();
  for (const chat of chats) sessions.set(chat, await givenConversation(chat));
  const lied = new Set<string>();
  world.claude.react(({ kind, pendingText, body }) => {
    const [, chat, nth] = /^Message of (\d+), number (\d+)$/.exec(pendingText) ?? [];
    const sent = JSON.stringify(body.messages.slice(-2));
    const key = `${chat} ${nth}`;
    const due = sequences[Number(chat) - CHAT]?.[Number(nth)];
    const isAfterTool = sent.includes('"tool_result"');
    if (kind !== 'main' || (due === undefined && !isAfterTool)) return undefined;
    // A request after a tool ends with its result, so its chat is read from the history.
    const own = isAfterTool ? afterTool(JSON.stringify(body.messages)) : undefined;
    if (own) {
      const late = sequences[own.chat - CHAT]?.[own.nth];
      const ownKey = `${own.chat} ${own.nth}`;
      if (!late?.isAfterTool || lied.has(ownKey)) return undefined;
      lied.add(ownKey);
      return LIES[late.lie];
    }
    if (due?.isAfterTool)
      return { do: 'answer', content: [{ ...RECALL, id: `toolu_${chat}_${nth}` }], stopReason: 'tool_use' };
    if (due === undefined || lied.has(key)) return undefined;
    lied.add(key);
    return LIES[due.lie];
  });
  await start();
  await Promise.all(
    chats.map(async (chat, at) => {
      for (const nth of (sequences[at] ?? []).keys()) {
        world.telegram.say(chat, `Message of ${chat}, number ${nth}`);
        const { outcome, session } = await nextOutcome(world, chat, nth + 1, 60_000);
        expect({ chat, nth, outcome, session }).toEqual({
          chat,
          nth,
          outcome: 'answered',
          session: sessions.get(chat),
        });
      }
    }),
  );
  expect(lied.size).toBe(sequences.flat().length);
  for (const [chat, session] of sessions) {
    world.telegram.say(chat, 'And now?');
    await nextOutcome(world, chat, (sequences[chat - CHAT]?.length ?? 0) + 1, 20_000);
    const last = world.claude.calls.findLast(
      ({ pendingText, body }) => pendingText === 'And now?' && JSON.stringify(body).includes(`of chat ${chat}"`),
    );
    const sent = JSON.stringify(last?.body);
    for (let at = 0; at < EXCHANGES; at++) expect(sent).toContain(`Question number ${at} of chat ${chat}`);
    const untilMs = Number((await world.peek.hget(world.keys.session(session), 'limitUntilMs')) ?? 0);
    expect(untilMs).toBeLessThanOrEqual(Date.now() + DAY_MS);
    expect(await world.peek.hget(world.keys.session(session), 'limitTokens')).toBeNull();
  }
  // Lies to several chats within a moment may look like trouble of the endpoint.
  const alerts = world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
  expect(alerts.filter((text) => !/^The model endpoint|^Resolved: the model endpoint/.test(text))).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
}, 180_000);

/** The chat and the message that a request after a tool's result is about. */
function afterTool(sent: string): { chat: number; nth: number } | undefined {
  const [, chat, nth] = [...sent.matchAll(/"tool_use_id":"toolu_(\d+)_(\d+)"/g)].at(-1) ?? [];
  return chat === undefined ? undefined : { chat: Number(chat), nth: Number(nth) };
}
