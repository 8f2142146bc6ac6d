import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe } from '../../fixture/history.ts';
import { variants } from '../../fixture/variants.ts';
import { alerts, ask, expectWhole, givenExchanges, givenLines } from '../../fixture/whole-chat.ts';
import { LIES, type Lie } from '../../stand-in/claude/lies.ts';

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
const RECALL = { type: 'tool_use', name: 'recall', input: { query: 'house' } };

/** The chat and the message that a request is about: by the message itself, or by the result of its tool. */
function aboutOf(text: string): { chat: number; nth: number } | undefined {
  const found = [...text.matchAll(/^Message of (\d+), number (\d+)$|"tool_use_id":"toolu_(\d+)_(\d+)"/g)].at(-1);
  return found && { chat: Number(found[1] ?? found[3]), nth: Number(found[2] ?? found[4]) };
}

/** The endpoint lies once about each message for which a sequence says so; answers the messages it has lied about. */
function lieAsTold(sequences: readonly (readonly Told[])[]): ReadonlySet<string> {
  const lied = new Set<string>();
  world.claude.react(({ kind, pendingText, body }) => {
    const isAfterTool = JSON.stringify(body.messages.at(-1)).includes('"tool_result"');
    const about = aboutOf(isAfterTool ? JSON.stringify(body.messages) : pendingText);
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

/** Each lie in a chat of its own; and what comes of several in one. */
const PLAYED: [string, Told[][]][] = [
  ['each lie', NAMES.map((lie, at) => [{ lie, isAfterTool: at % 2 === 1 }])],
  ['each lie in the other place', NAMES.map((lie, at) => [{ lie, isAfterTool: at % 2 === 0 }])],
  [
    'any sequence of lies',
    fc.sample(fc.array(told, { minLength: 1, maxLength: LIES_MAX }), { numRuns: SEQUENCES, seed: SEED }),
  ],
];

variants(PLAYED)(
  'after %s of the endpoint a chat has all of its conversation, has learnt nothing, and each lie cost one call',
  async (_, sequences) => {
    const sessions: SessionId[] = [];
    for (const at of sequences.keys()) sessions.push(await givenExchanges({ chat: CHAT + at }));
    const lied = lieAsTold(sequences);
    await start();
    const says = sequences.map(async (all, at) => {
      for (const nth of all.keys())
        expect(await ask(`Message of ${CHAT + at}, number ${nth}`, nth + 1, CHAT + at)).toMatchObject({
          outcome: 'answered',
          session: sessions[at],
        });
    });
    await Promise.all(says);
    const all = sequences.flat();
    expect(lied.size).toBe(all.length);
    const rounds = all.filter(({ isAfterTool }) => isAfterTool).length;
    expect(mainCalls().filter((call) => !isProbe(call))).toHaveLength(2 * all.length + rounds);
    for (const [at, session] of sessions.entries()) {
      await expectWhole(session, (sequences[at]?.length ?? 0) + 1, CHAT + at);
      expect(await world.peek.hget(world.keys.session(session), 'limitTokens')).toBeNull();
    }
    // Lies to several chats within a moment may look like trouble of the endpoint.
    expect(alerts().filter((text) => !/^The model endpoint|^Resolved: the model endpoint/m.test(text))).toEqual([]);
  },
);

test('a usage that cannot be that of the request is no size of the conversation: nothing is summarised', async () => {
  await start();
  const session = await givenExchanges();
  world.claude.react(({ pendingText }) =>
    pendingText === 'Hello?' ? { do: 'answer', text: 'Yes.', usage: { input_tokens: 900_000 } } : undefined,
  );
  expect(await ask('Hello?')).toMatchObject({ outcome: 'answered', session });
  await expectWhole(session, 2);
});

const ofSummary = (lie: Lie, times: number) => [`"${lie}", ${times === 1 ? 'once,' : 'always,'}`, lie, times] as const;
const ACCOUNT: Lie[] = ['credit', 'key', 'permission'];

variants([...ACCOUNT.map((lie) => ofSummary(lie, 99)), ...NAMES.map((lie) => ofSummary(lie, 1))])(
  '%s to a summary costs no conversation',
  async (_, lie, times) => {
    world.claude.windowTokens = 20_000;
    await start();
    const session = await givenLines(conversation(60, 1_000));
    let left = times;
    world.claude.react(({ kind }) => (kind === 'compaction' && left-- > 0 ? LIES[lie] : undefined));
    expect(await ask('Hello?')).toMatchObject({ outcome: times === 1 ? 'answered' : 'failed', session });
    if (times === 1) expect(alerts()).toEqual([]);
    else expect(shown()).toEqual([EN.misconfigured]);
    expect(world.claude.violations()).toEqual([]);
  },
);

variants(['credit', 'key'] as const)(
  '"%s" until the operator has mended it costs no history, whatever the next call does',
  async (lie) => {
    await start();
    const session = await givenExchanges();
    // Only the conversation meets it: the fixed parts are taken, as they are when credit comes in between.
    world.claude.react(({ pendingText }) => (pendingText === 'Hello?' ? LIES[lie] : undefined));
    expect(await ask('Hello?')).toMatchObject({ outcome: 'failed', session });
    expect(shown()).toHaveLength(1);
    await expectWhole(session, 2);
  },
);
