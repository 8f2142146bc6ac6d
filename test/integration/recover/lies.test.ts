import { expect } from '@jest/globals';
import fc from 'fast-check';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { LIES, type Lie } from '../../stand-in/claude/lies.ts';

const EXCHANGES = 40;
const SEQUENCES = 40;
const LIES_MAX = 6;
const SEED = 26;

eachInWorld({ claude: { bindThinking: false }, env: { TELEGRAM_ALLOWED_IDS: '*' } });

/** What the endpoint says that is not true, and where: at the first call, or after a round of tools. */
interface Told {
  lie: Lie;
  isAfterTool: boolean;
}

const NAMES = Object.keys(LIES) as Lie[];
const told = fc.record({ lie: fc.constantFrom(...NAMES), isAfterTool: fc.boolean() });

async function givenConversation(chat: number): Promise<SessionId> {
  const lines = Array.from({ length: EXCHANGES }, (_, at) => [
    JSON.stringify({ role: 'user', content: `Question number ${at} of chat ${chat}` }),
    JSON.stringify({ role: 'assistant', content: `Answer number ${at}: it is built with care` }),
  ]).flat();
  return importSession(world.peek, world.keys, chatKey(chat), await parseLines(lines));
}

const RECALL = { type: 'tool_use', name: 'recall', input: { query: 'house' } };

/** The endpoint lies once about each message for which a sequence says so; answers the messages it has lied about. */
function lieAsTold(sequences: readonly (readonly Told[])[]): ReadonlySet<string> {
  const lied = new Set<string>();
  world.claude.react(({ kind, pendingText, body }) => {
    const isAfterTool = JSON.stringify(body.messages.at(-1)).includes('"tool_result"');
    const about = isAfterTool ? afterTool(JSON.stringify(body.messages)) : firstAsk(pendingText);
    const due = about && sequences[about.chat - CHAT]?.[about.nth];
    if (kind !== 'main' || about === undefined || due === undefined) return undefined;
    const key = `${about.chat}_${about.nth}`;
    if (due.isAfterTool && !isAfterTool)
      return { do: 'answer', content: [{ ...RECALL, id: `toolu_${key}` }], stopReason: 'tool_use' };
    if (due.isAfterTool !== isAfterTool || lied.has(key)) return undefined;
    lied.add(key);
    return LIES[due.lie];
  });
  return lied;
}

/** The conversation is whole, and nothing that was learnt is left. */
async function expectUnharmed(chat: number, session: SessionId, nth: number): Promise<void> {
  world.telegram.say(chat, 'And now?');
  await nextOutcome(world, chat, nth);
  const last = world.claude.calls.findLast(
    ({ pendingText, body }) => pendingText === 'And now?' && JSON.stringify(body).includes(`of chat ${chat}"`),
  );
  const sent = JSON.stringify(last?.body);
  for (let at = 0; at < EXCHANGES; at++) expect(sent).toContain(`Question number ${at} of chat ${chat}`);
  expect(await world.peek.hget(world.keys.session(session), 'limitTokens')).toBeNull();
}

/** Each lie in a chat of its own; and what comes of several in one. */
const PLAYED: [string, Told[][]][] = [
  ['each lie', NAMES.map((lie, at) => [{ lie, isAfterTool: at % 2 === 1 }])],
  [
    'any sequence of lies',
    fc.sample(fc.array(told, { minLength: 1, maxLength: LIES_MAX }), { numRuns: SEQUENCES, seed: SEED }),
  ],
];

variants(PLAYED)(
  'after %s of the endpoint a chat has all of its conversation, and has learnt nothing',
  async (_, sequences) => {
    const sessions = new Map<number, SessionId>();
    for (const at of sequences.keys()) sessions.set(CHAT + at, await givenConversation(CHAT + at));
    const lied = lieAsTold(sequences);
    await start();
    const says = [...sessions].map(async ([chat, own]) => {
      for (const nth of (sequences[chat - CHAT] ?? []).keys()) {
        world.telegram.say(chat, `Message of ${chat}, number ${nth}`);
        const { outcome, session } = await nextOutcome(world, chat, nth + 1);
        expect({ chat, nth, outcome, session }).toEqual({ chat, nth, outcome: 'answered', session: own });
      }
    });
    await Promise.all(says);
    expect(lied.size).toBe(sequences.flat().length);
    for (const [chat, session] of sessions)
      await expectUnharmed(chat, session, (sequences[chat - CHAT]?.length ?? 0) + 1);
    // Lies to several chats within a moment may look like trouble of the endpoint.
    const alerts = world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
    expect(alerts.filter((text) => !/^The model endpoint|^Resolved: the model endpoint/m.test(text))).toEqual([]);
    expect(world.claude.violations()).toEqual([]);
  },
);

function firstAsk(text: string): { chat: number; nth: number } | undefined {
  const [, chat, nth] = /^Message of (\d+), number (\d+)$/.exec(text) ?? [];
  return chat === undefined ? undefined : { chat: Number(chat), nth: Number(nth) };
}

/** The chat and the message that a request after a tool's result is about. */
function afterTool(sent: string): { chat: number; nth: number } | undefined {
  const [, chat, nth] = [...sent.matchAll(/"tool_use_id":"toolu_(\d+)_(\d+)"/g)].at(-1) ?? [];
  return chat === undefined ? undefined : { chat: Number(chat), nth: Number(nth) };
}
