import { expect, test } from '@jest/globals';
import type { ClaudeCall } from '../stand-in/claude/reaction.ts';
import type { ShownMessage } from '../stand-in/telegram/chats.ts';
import type { TelegramCall } from '../stand-in/telegram/server.ts';
import type { Evidence } from './evidence.ts';
import { judge, USUAL_RULES } from './judge.ts';
import type { Asked } from './traffic.ts';

const CHAT = 1001;
const TRACE = 'a'.repeat(32);

const question = (number: number): Asked => ({
  number,
  chatId: CHAT,
  kind: 'text',
  text: `[m00000${number}] lane entry?`,
  updateId: 500 + number,
});

const shown = (messageId: number, text: string, at = messageId * 100): ShownMessage => ({
  messageId,
  text,
  at,
  edits: 0,
});

const answer = (number: number, messageId = number): ShownMessage => shown(messageId, `<#00000${number} 1/1> Here.`);

const call = (number: number, at = number * 100 - 50, endedAt = at + 20): ClaudeCall => ({
  index: number,
  at,
  endedAt,
  kind: 'main',
  body: { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: question(number).text }] },
  inputTokens: 1,
  pendingText: question(number).text,
  reaction: 'answer',
  status: 200,
  requestId: 'r',
});

const sent = (text: string, at: number, status = 200): TelegramCall => ({
  at,
  method: 'sendMessage',
  params: { chat_id: CHAT, text },
  ok: true,
  status,
});

const line = (number: number, outcome = 'answered') => ({
  entry: `${number}-0`,
  chat: String(CHAT),
  outcome,
  traceId: TRACE,
});

/** Two messages of one chat, each answered once, in order. */
function sound(): Evidence {
  return {
    asked: [question(1), question(2)],
    confirmedUpTo: 502,
    calls: [call(1), call(2)],
    shown: new Map([[CHAT, [answer(1), answer(2)]]]),
    telegramCalls: [sent('<#000001 1/1> Here.', 100), sent('<#000002 1/1> Here.', 200)],
    alerts: [],
    ledger: [line(1), line(2)],
    entryOf: new Map([
      [501, '1-0'],
      [502, '2-0'],
    ]),
    left: [],
    faults: [],
    cut: { accepts: new Set(), outcomes: new Set() },
    drainMs: 10,
  };
}

const violated = (evidence: Evidence): string[] => [
  ...new Set(judge(evidence, USUAL_RULES).violations.map(({ invariant }) => invariant)),
];

const chatShows = (...messages: ShownMessage[]): Pick<Evidence, 'shown'> => ({ shown: new Map([[CHAT, messages]]) });

test('what is sound violates nothing', () => {
  expect(judge(sound(), USUAL_RULES)).toMatchObject({ violations: [], lost: 0, extra: 0, again: 0 });
});

test.each<[string, string[], Partial<Evidence>]>([
  ['an update is confirmed and was never accepted', ['I1'], { entryOf: new Map([[501, '1-0']]) }],
  ['a message has no outcome', ['I1'], { ledger: [line(1)] }],
  ['a message has two outcomes', ['I1'], { ledger: [line(1), line(2), line(2)] }],
  ['an answer is in the ledger and in no chat', ['I1'], chatShows(answer(1))],
  ['a failure was told to nobody', ['I1'], { ...chatShows(answer(1)), ledger: [line(1), line(2, 'failed')] }],
  ['an answer stands twice', ['I2'], chatShows(answer(1), answer(1, 3), answer(2, 4))],
  ['an answer of another chat', ['I2'], chatShows(answer(1), answer(2), answer(7))],
  ['a placeholder was left', ['I2'], chatShows(answer(1), shown(2, '…'), answer(2, 3))],
  ['answers stand in another order', ['I3'], chatShows(answer(2, 1), answer(1, 2))],
  ['an earlier answer came later', ['I3'], chatShows({ ...answer(1), editedAt: 900 }, answer(2))],
  ['two calls at once in a chat', ['I3'], { calls: [call(1, 50, 170), call(2)] }],
  ['too many calls for a message', ['I4'], { calls: Array.from({ length: 10 }, (_, at) => call(1, at * 100)) }],
  [
    'a request broke the contract',
    ['I5'],
    { calls: [{ ...call(1), breach: { rule: 3, status: 400, type: 'x', message: 'y' } }] },
  ],
  ['the backlog did not drain', ['I6'], { drainMs: undefined }],
  ['an update was not taken', ['I6'], { confirmedUpTo: 501 }],
  ['a job is left', ['I7'], { left: ['1 active jobs'] }],
  ['an alert that nothing called for', ['I8'], { alerts: ['A message failed'] }],
  ['an outcome without a trace', ['I9'], { ledger: [line(1), { ...line(2), traceId: '' }] }],
  [
    'the model was asked something else',
    ['I11'],
    { calls: [{ ...call(1), body: { ...call(1).body, messages: [{ role: 'user', content: '[m000001] other' }] } }] },
  ],
])('%s', (_what, invariants, change) => {
  expect(violated({ ...sound(), ...change })).toEqual(invariants);
});

test('a second copy is excused where the result of the first send was unknown, and counted', () => {
  const evidence = { ...sound(), ...chatShows(answer(1), answer(1, 3), answer(2, 4)) };
  const telegramCalls = [sent('<#000001 1/1> Here.', 100, 0), sent('<#000001 1/1> Here.', 300)];
  expect(judge({ ...evidence, telegramCalls }, USUAL_RULES)).toMatchObject({ violations: [], extra: 1 });
  const third = chatShows(answer(1), answer(1, 3), answer(1, 4), answer(2, 5));
  expect(violated({ ...evidence, ...third, telegramCalls })).toEqual(['I2']);
});

test('a fault excuses only what it names, and only while it lasts', () => {
  const evidence = { ...sound(), calls: [call(1, 50, 170), call(2)] };
  const window = { name: 'freeze', fromMs: 100, toMs: 200, excuses: ['overlap'] as const };
  expect(violated({ ...evidence, faults: [window] })).toEqual([]);
  expect(violated({ ...evidence, faults: [{ ...window, excuses: ['send'] }] })).toEqual(['I3']);
  expect(violated({ ...evidence, faults: [{ ...window, fromMs: 5_000, toMs: 6_000 }] })).toEqual(['I3']);
});

test('a cut of the file excuses exactly the messages that it took, and counts them', () => {
  const lost = { ...sound(), ...chatShows(answer(1)), ledger: [line(1)], entryOf: new Map([[501, '1-0']]) };
  const cut = { accepts: new Set([502]), outcomes: new Set<number>() };
  expect(judge({ ...lost, cut }, USUAL_RULES)).toMatchObject({ violations: [], cut: 1 });
  expect(violated({ ...lost, cut: { ...cut, accepts: new Set([501]) } })).toContain('I1');
});

test('a message that failed is told by a notice in its place, or by an alert that names its entry', () => {
  const failed = { ...sound(), ledger: [line(1, 'failed'), line(2)] };
  const rules = { ...USUAL_RULES, unansweredMax: 1, alertsMax: 1 };
  const noticed = { ...failed, ...chatShows(shown(1, 'Please try again.'), answer(2)) };
  expect(judge(noticed, rules).violations).toEqual([]);
  expect(judge(noticed, USUAL_RULES).violations).toMatchObject([{ invariant: 'I1' }]);
  const alerted = { ...failed, ...chatShows(answer(2)), alerts: ['A message failed. Chat 1001, entry 1-0'] };
  expect(judge(alerted, rules).violations).toEqual([]);
});
