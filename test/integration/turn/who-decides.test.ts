import { expect, test } from '@jest/globals';
import { chatKey, type EntryId } from '../../../shared/redis/keys.ts';
import { msOf } from '../../../shared/redis/stream.ts';
import type { Change } from '../../../shared/state/change.ts';
import { turnOf } from '../../../shared/state/turn/record.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { EN } from '../../../shared/texts/en.ts';
import { createChatState } from '../../../worker/command/chat-state.ts';
import type { Env } from '../../../worker/env.ts';
import { parkTurn } from '../../../worker/turn/park.ts';
import { until } from '../../chaos/scenario.ts';
import { buttonsOf } from '../../fixture/buttons.ts';
import { runCli } from '../../fixture/cli.ts';
import { call } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, mainCalls, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { jobsIn } from '../../fixture/job-keys.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import {
  ASKING,
  GROUP,
  outcomes,
  PATIENCE_MS,
  press,
  question,
  untilParked,
  wantsToWrite,
} from '../../fixture/parked.ts';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
import { forwarded } from '../../stand-in/telegram/inbound-kinds.ts';

eachWithNotebook(ASKING);

test('where nobody answered once, nothing more is asked for the message', async () => {
  await start({ APPROVAL_TIMEOUT_MS: '500' }, { reconcileEveryMs: 500 });
  const ask = (id: string) => call(id, { name: 'ask_user', input: { question: 'Which colour?' } });
  world.claude.react(callsTools([ask('q1'), ask('q2')], [use('t1', 'write')], [ask('q3')]));
  world.telegram.say(CHAT, 'Paint it');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['Which colour?', 'Done after 3 rounds.']);
  expect(await notebook.notes()).toEqual([]);
});

test('a group that became a supergroup meanwhile cannot be asked: the model learns so, and it is answered there', async () => {
  await start();
  const { promise, resolve } = Promise.withResolvers<void>();
  const wants = callsTools([use('t1', 'write')]);
  world.claude.react((asked) => {
    const reaction = wants(asked);
    return asked.body.messages.length === 1 && reaction?.do === 'answer' ? { ...reaction, after: promise } : reaction;
  });
  world.telegram.say(GROUP, '@spillway_bot Write it down', { fromId: CHAT, chatType: 'group' });
  await world.claude.waitForCall(() => true);
  const supergroup = world.telegram.migrate(GROUP);
  resolve();
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  expect(shown(supergroup)).toEqual(['Done after 1 rounds.']);
  expect(await notebook.notes()).toEqual([]);
});

test('a question of a group that became a supergroup after it was shown can be pressed there', async () => {
  await start();
  world.claude.react(callsTools([use('t1', 'write')]));
  world.telegram.say(GROUP, '@spillway_bot Write it down', { fromId: CHAT, chatType: 'group' });
  const { messageId, ...asked } = await question(GROUP);
  const supergroup = world.telegram.migrate(GROUP);
  const from = { id: CHAT, is_bot: false, first_name: 'Ann' };
  const message = { message_id: messageId, date: 0, chat: { id: supergroup, type: 'supergroup' } };
  const [once] = buttonsOf(asked);
  world.telegram.push({ callback_query: { id: '77', from, message, data: once?.callback_data, chat_instance: '1' } });
  await untilSettled(world, 2, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', 'command']);
  expect(shown(supergroup).sort()).toEqual(['Allowed once by Ann.', 'Done after 1 rounds.']);
  expect(await notebook.notes()).toEqual(['write t1']);
});

test('what was written before the question is no answer to it, and comes next', async () => {
  await start();
  const { promise, resolve } = Promise.withResolvers<void>();
  const wants = callsTools([use('t1', 'write')]);
  world.claude.react((asked) => {
    const reaction = wants(asked);
    return asked.pendingText === 'Write it down' && reaction?.do === 'answer'
      ? { ...reaction, after: promise }
      : reaction;
  });
  world.claude.react(({ pendingText }) => (/milk/.test(pendingText) ? { do: 'answer', text: 'Bought' } : undefined));
  world.telegram.say(CHAT, 'Write it down');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'Write it down');
  world.telegram.say(CHAT, 'And buy milk');
  await untilWaiting(CHAT);
  resolve();
  await untilParked();
  world.telegram.say(CHAT, 'rather not');
  await untilSettled(world, 3, PATIENCE_MS);
  expect(toldOfCalls()).toContain('wrote instead: rather not');
  expect(toldOfCalls()).not.toContain('milk');
  expect((await outcomes()).sort()).toEqual(['answered', 'answered', 'merged']);
});

test('a forwarded text is not the word of who forwards it: it declines, and comes next', async () => {
  await start();
  world.claude.react(callsTools([call('q1', { name: 'ask_user', input: { question: 'Which account?' } })]));
  world.claude.react(({ pendingText }) => (/forger/.test(pendingText) ? { do: 'answer', text: 'No' } : undefined));
  world.telegram.say(CHAT, 'Pay the bill');
  await question(CHAT, /^Which account/);
  world.telegram.say(CHAT, 'To mine, says the forger', { extra: forwarded({ type: 'hidden_user', name: 'Mallory' }) });
  await untilSettled(world, 2, PATIENCE_MS);
  expect(toldOfCalls()).toContain('does not want to answer');
  expect(await outcomes()).toEqual(['answered', 'answered']);
});

test('what waits for a person survives a restart, costs no attempt, and is never overdue, nor is what waits behind it', async () => {
  await start({ UNANSWERED_ALERT_MS: '2000' }, { watchEveryMs: 50 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const wants = callsTools([use('t1', 'write')]);
  world.claude.react((asked) => {
    const isFirst = asked.body.messages.length === 1;
    const reaction = /next/.test(asked.pendingText) ? ({ do: 'answer', text: 'Hi' } as const) : wants(asked);
    return reaction?.do === 'answer' ? { ...reaction, ...(isFirst ? { after: promise } : { afterMs: 400 }) } : reaction;
  });
  world.telegram.say(CHAT, 'Write it down');
  await world.claude.waitForCall(() => true);
  world.telegram.say(CHAT, 'next');
  await untilWaiting(CHAT);
  resolve();
  await untilParked();
  const atMs = Date.now();
  await stopGateways();
  await start({}, { watchEveryMs: 50 });
  await until('both are old', () => Date.now() - atMs > 2_100);
  await press('once');
  const settled = await untilSettled(world, 3, PATIENCE_MS);
  const answered = settled.filter(({ outcome }) => outcome === 'answered');
  expect(answered.map(({ attempts }) => attempts)).toEqual([1, 1]);
  expect(shown(9001)).toEqual([]);
});

test('a turn that goes on by a press is not left for what came meanwhile, also where a chat wants that', async () => {
  await start();
  const wants = callsTools([use('t1', 'write')]);
  world.claude.react((asked) => (/later/.test(asked.pendingText) ? { do: 'answer', text: 'Hi' } : wants(asked)));
  world.telegram.say(GROUP, '/busy interrupt', { fromId: CHAT, chatType: 'supergroup' });
  await nextOutcome(world, GROUP);
  sayInGroup('Write it down', CHAT);
  await question(GROUP);
  sayInGroup('later', 1002);
  await untilWaiting(GROUP);
  await press('once', { chat: GROUP });
  await untilSettled(world, 4, PATIENCE_MS);
  expect(await notebook.notes()).toEqual(['write t1']);
  expect((await outcomes()).filter((outcome) => outcome === 'answered')).toHaveLength(2);
});

test('a question is asked at the time of Redis, which names what answers it: what a process knows of that may be ahead', async () => {
  const written: Change[] = [];
  const env = {
    ...{ lane: { depth: async () => 1 }, settings: { approvalTimeoutMs: 60_000 }, reach() {} },
    telegram: { sendMessage: async () => ({ ok: true, value: { messageId: 7 } }) },
    chatState: createChatState(world.peek, world.keys),
  } as unknown as Env;
  const turn = Object.assign(turnOf(world.keys, '4000-0' as EntryId), {
    ...{ entry: '4000-0', texts: EN, message: { ok: false } },
    ...{ nowMs: () => Date.now() + 400, assertOwned: async () => {} },
    env,
    write: async (_: string, changes: Change[]) => written.push(...changes),
  }) as unknown as Turn<Env>;
  const asking = { kind: 'question', id: '1.0', question: 'Which?', choices: [] } as const;
  expect(await parkTurn(turn, asking)).toMatchObject({ kind: 'park' });
  const answer = await world.peek.xadd(world.keys.inbound, '*', 'a', 'b');
  expect(Number(written.at(-1)?.at(-1))).toBeLessThanOrEqual(msOf(answer as EntryId));
});

test('who was taken off the allow list meanwhile does not answer, as a guest, what is then done with the tools of others', async () => {
  const rita = 4_004;
  await runCli(['allow', String(rita)], world.env);
  await start();
  const wants = callsTools([call('q1', { name: 'ask_user', input: { question: 'Which account?' } })]);
  world.claude.react((asked) => (/Mine/.test(asked.pendingText) ? { do: 'answer', text: 'No' } : wants(asked)));
  sayInGroup('Pay the bill', rita);
  await question(GROUP, /^Which account/);
  await runCli(['allow', '--remove', String(rita)], world.env);
  await stopGateways();
  await start();
  const [entry = ''] = await world.peek.lrange(world.keys.lane(chatKey(GROUP)), 0, 0);
  sayInGroup('Mine', rita);
  const seen = () => world.peek.hget(world.keys.turn(entry as EntryId), 'parkedBehind');
  await until('it was seen and left', async () => (await seen()) === '1');
  await press('no', { chat: GROUP, title: /^Which account/ });
  await untilSettled(world, 3, PATIENCE_MS);
  expect(toldOfCalls()).toContain('does not want to answer');
  expect((await outcomes()).sort()).toEqual(['answered', 'answered', 'command']);
});

/** Makes the question that waits seem to have been tried for ten minutes. */
async function tryForLong(): Promise<void> {
  const [entry = ''] = await world.peek.lrange(world.keys.lane(chatKey(CHAT)), 0, 0);
  const turn = world.keys.turn(entry as EntryId);
  const parked = JSON.parse((await world.peek.hget(turn, 'parked')) ?? '{}');
  await world.peek.hset(turn, 'parked', JSON.stringify({ ...parked, untilMs: parked.untilMs - 600_000 }));
}

const isQuestion = ({ text }: { text?: unknown }) => String(text).startsWith('May I');
const delays = () => world.peek.zcard(jobsIn(world.keys, 'delayed'));

test('a press on a question of which Telegram never said that it stands there goes on at once', async () => {
  await start();
  wantsToWrite('t1');
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 2, isQuestion);
  world.telegram.say(CHAT, 'Write it down');
  await until('it is tried again', async () => (await delays()) === 1);
  await tryForLong();
  await until('shown twice', () => shown().filter((text) => text.startsWith('May I')).length === 2);
  await until('it waits for minutes', async () => (await delays()) === 1);
  await press('once');
  await untilSettled(world, 2, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', 'command']);
  expect(await notebook.notes()).toEqual(['write t1']);
});

test('the time of a question that may have been shown ends when it ends, also while it is put off', async () => {
  await start({ APPROVAL_TIMEOUT_MS: '605000' }, { reconcileEveryMs: 500 });
  wantsToWrite('t1');
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 2, isQuestion);
  world.telegram.say(CHAT, 'Write it down');
  await until('it is tried again', async () => (await delays()) === 1);
  await tryForLong();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const [told] = resultsIn(mainCalls().at(-1) as ClaudeCall);
  expect(JSON.stringify(told?.content)).toContain('Nobody answered in time');
});

test('a question that was certainly not shown is not put off for longer and longer', async () => {
  await start();
  wantsToWrite('t1');
  const throttled = { status: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
  world.telegram.fail('sendMessage', throttled, 2, isQuestion);
  world.telegram.say(CHAT, 'Write it down');
  await until('it is tried again', async () => (await delays()) === 1);
  await tryForLong();
  await press('once');
  await untilSettled(world, 2, PATIENCE_MS);
  expect(await notebook.notes()).toEqual(['write t1']);
});

/** What the model was told of the calls that it made, in all requests. */
function toldOfCalls(): string {
  return mainCalls()
    .flatMap((each) => resultsIn(each).map(({ content }) => JSON.stringify(content)))
    .join();
}

/** Somebody addresses the bot in the group. */
const sayInGroup = (text: string, fromId: number) =>
  world.telegram.say(GROUP, `/x@${world.telegram.username} ${text}`, { fromId, chatType: 'supergroup' });
const untilWaiting = (chat: number) =>
  until('it waits', async () => (await world.peek.llen(world.keys.lane(chatKey(chat)))) === 2);
