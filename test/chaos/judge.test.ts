import { expect, test } from '@jest/globals';
import { EN } from '../../shared/texts/en.ts';
import type { ClaudeCall } from '../stand-in/claude/reaction.ts';
import type { Message } from '../stand-in/claude/request.ts';
import type { ShownMessage } from '../stand-in/telegram/chats.ts';
import type { Evidence } from './evidence.ts';
import { judge, USUAL_RULES } from './judge.ts';
import { answer, CHAT, call, line, question, reply, sent, shown, sound, user } from './sound.ts';
import { readChat } from './telling.ts';
import type { Asked } from './traffic.ts';

const SUMMARY = '[Summary of the earlier conversation, for reference.]';

/** Redis may lose something, and then it is told. */
const LOSS_RULES = { ...USUAL_RULES, alertsMax: 1 };

const violated = (evidence: Evidence): string[] => [
  ...new Set(judge(evidence, USUAL_RULES).violations.map(({ invariant }) => invariant)),
];

/** The last question is asked with these messages before it. */
const remembers = (...before: Message[]): Pick<Evidence, 'calls'> => {
  const last = call(2);
  return { calls: [call(1), { ...last, body: { ...last.body, messages: [...before, user(question(2).text)] } }] };
};

const chatShows = (...messages: ShownMessage[]): Pick<Evidence, 'shown'> => ({ shown: new Map([[CHAT, messages]]) });

test('sound evidence yields no violations', () => {
  expect(judge(sound(), USUAL_RULES)).toMatchObject({ violations: [], lost: 0, extra: 0, again: 0 });
});

test.each<[string, string[], Partial<Evidence>]>([
  ['an update is confirmed but was never accepted', ['I1'], { entryOf: new Map([[501, '1-0']]) }],
  ['a message has no outcome', ['I1'], { ledger: [line(1)] }],
  ['a message has two outcomes', ['I1'], { ledger: [line(1), line(2), line(2)] }],
  ['an answer is in the ledger but in no chat', ['I1', 'I13'], chatShows(answer(1))],
  [
    'an answer that an alert names was not seen either',
    ['I1', 'I8', 'I13'],
    { ...chatShows(answer(1)), alerts: ['entry 2-0'] },
  ],
  ['the model is asked while Telegram is away', ['I14'], { quiet: [{ fromMs: 0, toMs: 10_000 }] }],
  ['nobody is notified of a failed message', ['I1'], { ...chatShows(answer(1)), ledger: [line(1), line(2, 'failed')] }],
  ['an answer is shown twice', ['I2'], chatShows(answer(1), answer(1, 3), answer(2, 4))],
  ['a chat shows an answer to a message it never sent', ['I2'], chatShows(answer(1), answer(2), answer(7))],
  ['a placeholder remains', ['I2'], chatShows(answer(1), shown(2, EN.repeat), answer(2, 3))],
  ['answers are out of order', ['I3'], chatShows(answer(2, 1), answer(1, 2))],
  ['an earlier answer is edited in after a later one', ['I3'], chatShows({ ...answer(1), editedAt: 900 }, answer(2))],
  ['two model calls overlap in a chat', ['I3'], { calls: [call(1, 50, 170), call(2)] }],
  [
    'a message causes too many model calls',
    ['I4'],
    { calls: Array.from({ length: 10 }, (_, at) => call(1, at * 100)) },
  ],
  [
    'a request breaks the API contract',
    ['I5'],
    { calls: [{ ...call(1), violation: { rule: 3, status: 400, type: 'x', message: 'y' } }] },
  ],
  ['the backlog does not drain', ['I6'], { drainMs: undefined }],
  ['an update is never confirmed', ['I6'], { confirmedUpTo: 501 }],
  ['a job remains after the run', ['I7'], { left: ['1 active jobs'] }],
  ['an alert has no cause', ['I8'], { alerts: ['A message failed'] }],
  ['an outcome has no trace id', ['I9'], { ledger: [line(1), { ...line(2), traceId: '' }] }],
  ['a poll resumes too late', ['I12'], { waits: [{ what: 'a poll', maxMs: 10, tookMs: 11 }] }],
  ['a poll never resumes', ['I12'], { waits: [{ what: 'a poll', maxMs: 10 }] }],
  ['an answered turn is not remembered', ['I10'], remembers()],
  ['a turn is remembered without its answer', ['I10'], remembers(user(question(1).text))],
  ['a turn is remembered with two answers', ['I10'], remembers(user(question(1).text), reply(1), reply(1))],
  ['a turn is remembered with the answer to another question', ['I10'], remembers(user(question(1).text), reply(3))],
  [
    'a turn is remembered twice',
    ['I11', 'I10'],
    remembers(user(question(1).text), reply(1), user(question(1).text), reply(1)),
  ],
  ['a summary replaces a turn although nothing overflowed', ['I10'], remembers(user(SUMMARY))],
  [
    'the model is asked something other than the question',
    ['I11'],
    { calls: [{ ...call(1), body: { ...call(1).body, messages: [{ role: 'user', content: '[m000001] other' }] } }] },
  ],
])('reports a violation: %s', (_what, invariants, change) => {
  expect(violated({ ...sound(), ...change })).toEqual(invariants);
});

test('a second copy is excused and counted if the result of the first send is unknown; a third is a violation', () => {
  const evidence = { ...sound(), ...chatShows(answer(1), answer(1, 3), answer(2, 4)) };
  const telegramCalls = [sent('<#000001 1/1> Here.', 100, 0), sent('<#000001 1/1> Here.', 300)];
  expect(judge({ ...evidence, telegramCalls }, USUAL_RULES)).toMatchObject({ violations: [], extra: 1 });
  const third = chatShows(answer(1), answer(1, 3), answer(1, 4), answer(2, 5));
  expect(violated({ ...evidence, ...third, telegramCalls })).toEqual(['I2']);
});

test('a kill between a send and its mark excuses the repeat that the next process edits in, and nothing later', () => {
  const evidence = { ...sound(), ...chatShows(answer(1), answer(1, 3), answer(2, 4)) };
  const edit = { ...sent('<#000001 1/1> Here.', 3_900), method: 'editMessageText' };
  const telegramCalls = [sent('<#000001 1/1> Here.', 98), edit];
  const kill = { name: 'kill', fromMs: 100, toMs: 100, excuses: ['send'] as const };
  expect(violated({ ...evidence, telegramCalls, faults: [kill] })).toEqual([]);
  expect(violated({ ...evidence, telegramCalls, faults: [{ ...kill, fromMs: 5_000, toMs: 5_000 }] })).toEqual(['I2']);
});

test('a fault excuses only what it names, and only while it lasts', () => {
  const evidence = { ...sound(), calls: [call(1, 50, 170), call(2)] };
  const window = { name: 'freeze', fromMs: 100, toMs: 200, excuses: ['overlap'] as const };
  expect(violated({ ...evidence, faults: [window] })).toEqual([]);
  expect(violated({ ...evidence, faults: [{ ...window, excuses: ['send'] }] })).toEqual(['I3']);
  expect(violated({ ...evidence, faults: [{ ...window, fromMs: 5_000, toMs: 6_000 }] })).toEqual(['I3']);
});

test('a cut of the Redis file excuses and counts exactly the messages it removed, and requires an alert', () => {
  const lost = { ...sound(), ...chatShows(answer(1)), ledger: [line(1)], entryOf: new Map([[501, '1-0']]) };
  const cut = { accepts: new Set([502]), outcomes: new Set<number>() };
  const isNotified = { ...lost, alerts: ['Redis lost data: 1'] };
  expect(judge({ ...isNotified, cut }, LOSS_RULES)).toMatchObject({ violations: [], cut: 1 });
  expect(judge({ ...lost, cut }, LOSS_RULES).violations).toMatchObject([{ invariant: 'I8' }]);
  expect(violated({ ...isNotified, cut: { ...cut, accepts: new Set([501]) } })).toContain('I1');
});

/** Three messages, and what the model was shown when it was asked the third. */
function threeTurns(...messages: Message[]): Evidence {
  const third = { ...call(3), body: { ...call(3).body, messages: [...messages, user(question(3).text)] } };
  return {
    ...sound(),
    ...chatShows(answer(1), answer(2), answer(3)),
    asked: [question(1), question(2), question(3)],
    confirmedUpTo: 503,
    calls: [call(1), call(2), third],
    ledger: [line(1), line(2), line(3)],
    entryOf: new Map([1, 2, 3].map((number) => [500 + number, `${number}-0`])),
  };
}

const overflow = (number: number, index: number): ClaudeCall => ({
  ...call(number, number * 100 - 90),
  index,
  status: 400,
  reaction: 'overflow',
});

const after = (early: ClaudeCall, evidence: Evidence): Evidence => ({ ...evidence, calls: [early, ...evidence.calls] });

test('remembered turns in the wrong order are a violation', () => {
  const [one, two] = [1, 2].map((number) => [user(question(number).text), reply(number)]);
  expect(violated(threeTurns(...(one ?? []), ...(two ?? [])))).toEqual([]);
  expect(violated(threeTurns(...(two ?? []), ...(one ?? [])))).toEqual(['I10']);
});

test('an overflow excuses missing turns before it, but not after it', () => {
  const evidence = threeTurns(user(SUMMARY), user(question(2).text), reply(2));
  expect(violated(evidence)).toEqual(['I10']);
  expect(violated(after(overflow(2, 1.5), evidence))).toEqual([]);
  const forgets = threeTurns(user(SUMMARY));
  expect(violated(after(overflow(2, 1.5), forgets))).toEqual(['I10']);
  expect(violated(after(overflow(3, 2.5), forgets))).toEqual([]);
});

test('a summary call excuses missing turns as an overflow does; a summary call of another chat does not', () => {
  const evidence = threeTurns(user(SUMMARY));
  const summary = (quoted: number): ClaudeCall => ({
    ...overflow(3, 2.5),
    kind: 'compaction',
    body: { ...call(3).body, messages: [user(`user: ${question(quoted).text}`)] },
  });
  expect(violated(after(summary(1), evidence))).toEqual([]);
  expect(violated(after(summary(9), evidence))).toEqual(['I10']);
});

test('a gap in a shortened conversation is a violation', () => {
  const evidence = threeTurns(user(SUMMARY), user(question(1).text), reply(1));
  expect(violated(after(overflow(3, 2.5), evidence))).toEqual(['I10']);
});

test('/new excuses missing earlier turns, and a turn that is still shown is a violation', () => {
  const renewed: Asked = { ...question(2), kind: 'new', text: '/new' };
  const isNew = (...messages: Message[]): Evidence => {
    const evidence = threeTurns(...messages);
    return {
      ...evidence,
      ...chatShows(answer(1), shown(2, EN.newConversation), answer(3)),
      asked: [question(1), renewed, question(3)],
      calls: evidence.calls.filter(({ index }) => index !== 2),
    };
  };
  expect(violated(isNew())).toEqual([]);
  expect(violated(isNew(user(question(1).text), reply(1)))).toEqual(['I10']);
});

test('a cut of the Redis file excuses a conversation from remembering the messages it removed', () => {
  const cut = { accepts: new Set([501]), outcomes: new Set<number>() };
  const evidence = { ...sound(), ...remembers(), alerts: ['Redis lost data: 1'] };
  expect(judge({ ...evidence, cut }, LOSS_RULES).violations).toEqual([]);
  const other = { ...evidence, cut: { ...cut, accepts: new Set([502]) } };
  expect(judge(other, LOSS_RULES).violations).toMatchObject([{ invariant: 'I10' }]);
});

test('a message whose model call was refused may go unanswered, but its user must be notified', () => {
  const refused = { ...sound(), ledger: [line(1, 'failed'), line(2)], calls: [{ ...call(1), status: 401 }, call(2)] };
  const rules = { ...USUAL_RULES, refusals: [401] };
  const noticed = { ...refused, ...chatShows(shown(1, 'Not now.'), answer(2)) };
  expect(judge(noticed, rules).violations).toEqual([]);
  expect(judge({ ...noticed, calls: [call(1), call(2)] }, rules).violations).toMatchObject([{ invariant: 'I1' }]);
  expect(judge({ ...refused, ...chatShows(answer(2)) }, rules).violations).toMatchObject([{ invariant: 'I1' }]);
});

test('an alert of another kind is a violation, however many alerts are allowed', () => {
  const rules = { ...USUAL_RULES, alertsMin: 1, alertsMax: 2, alertLike: /lost data/ };
  expect(judge({ ...sound(), alerts: ['Redis lost data: 4'] }, rules).violations).toEqual([]);
  const other = { ...sound(), alerts: ['Redis lost data: 4', 'A message failed'] };
  expect(judge(other, rules).violations).toMatchObject([{ invariant: 'I8' }]);
});

test('an unclean end is told where there was a fault, and where it must be', () => {
  const told = { ...sound(), uncleanEnds: ['A process crashed or was killed'] };
  const fault = { name: 'killed', fromMs: 0, toMs: 1, excuses: [] };
  const must = { ...USUAL_RULES, isEndTold: true };
  expect(judge({ ...told, faults: [fault] }, must).violations).toEqual([]);
  expect(violated(told)).toEqual(['I8']);
  expect(judge({ ...sound(), faults: [fault] }, must).violations).toMatchObject([{ invariant: 'I8' }]);
});

test('a failed message needs a notice in place of its answer, or an alert that names its entry', () => {
  const failed = { ...sound(), ledger: [line(1, 'failed'), line(2)] };
  const rules = { ...USUAL_RULES, unansweredMax: 1, alertsMax: 1 };
  const noticed = { ...failed, ...chatShows(shown(1, 'Please try again.'), answer(2)) };
  expect(judge(noticed, rules).violations).toEqual([]);
  expect(judge(noticed, USUAL_RULES).violations).toMatchObject([{ invariant: 'I1' }]);
  const alerted = { ...failed, ...chatShows(answer(2)), alerts: ['A message failed. Chat 1001, entry 1-0'] };
  expect(judge(alerted, rules).violations).toEqual([]);
});

test('a message is cancelled only by /stop, and a cancelled message must have no answer', () => {
  const stop: Asked = { ...question(2), kind: 'stop', text: '/stop' };
  const cancelled = {
    ...sound(),
    asked: [question(1), stop],
    calls: [call(1)],
    ledger: [line(1, 'cancelled'), line(2, 'command')],
    ...chatShows(shown(2, EN.stopped)),
  };
  expect(violated(cancelled)).toEqual([]);
  expect(violated({ ...cancelled, ...chatShows(answer(1), shown(2, EN.stopped)) })).toEqual(['I1']);
  expect(violated({ ...cancelled, ledger: [line(1, 'failed'), line(2, 'command')] })).toEqual(['I1']);
  const untold = { ...cancelled, ...chatShows(answer(2)), asked: [question(1), question(2)] };
  expect(violated({ ...untold, ledger: [line(1, 'cancelled'), line(2)] })).toContain('I1');
});

test('the words so far of a message that was stopped are no answer, in however many parts they stand', () => {
  const stop: Asked = { ...question(2), kind: 'stop', text: '/stop' };
  const part = (number: number, words = '') => ({ ...shown(number, `<#000001 ${number}/3> words${words}`) });
  const stopped = {
    ...sound(),
    asked: [question(1), stop],
    calls: [call(1)],
    ledger: [line(1, 'cancelled'), line(2, 'command')],
    ...chatShows(part(1), part(2), part(3, `\n\n${EN.stoppedHere}`), shown(4, EN.stopped)),
  };
  expect(violated(stopped)).toEqual([]);
  expect(violated({ ...stopped, ledger: [line(1), line(2, 'command')] })).toEqual(['I1', 'I13']);
  expect(violated({ ...stopped, ...chatShows(part(1), part(2), part(3), shown(4, EN.stopped)) })).toEqual(['I1']);
  const cutEarlier = chatShows(part(1), part(2), shown(3, `rest\n\n${EN.stoppedHere}`), shown(4, EN.stopped));
  expect(violated({ ...stopped, ...cutEarlier })).toEqual([]);
});

test('a reply to a command that stands twice is not taken for that of a later command, unless that was written by then', () => {
  const command = (number: number, atMs: number): Asked => ({ ...question(number), kind: 'new', text: '/new', atMs });
  const asked = [command(1, 0), question(2), command(3, 350)];
  const reply = (messageId: number) => shown(messageId, EN.newConversation);
  const repeated = readChat(asked, [reply(1), reply(2), answer(2, 3), reply(4)]);
  expect(repeated.late).toEqual([]);
  expect(repeated.told.map(({ parts }) => parts.get(1))).toEqual([2, 1, 1]);
  const overtaken = readChat([command(1, 0), question(2), command(3, 150)], [reply(1), reply(2), answer(2, 3)]);
  expect(overtaken.late.map((told) => told.asked.number)).toEqual([2]);
});

test('an answer with a part that may be missing needs an alert and counts as unanswered', () => {
  const half = shown(1, '<#000001 1/2> Here.');
  const evidence = { ...sound(), ...chatShows(half, answer(2)) };
  const rules = { ...USUAL_RULES, unansweredMax: 1, alertsMax: 1 };
  const delivery = { parts: 2, confirmed: 1, unsure: 1 };
  const ledger = [{ ...line(1), delivery }, line(2)];
  const unsure = { ...evidence, ledger, alerts: ['A part of a reply may be missing. Chat 1001, entry 1-0'] };
  expect(judge(unsure, rules).violations).toEqual([]);
  expect(judge(unsure, { ...rules, unansweredMax: 0 }).violations).toMatchObject([{ invariant: 'I1' }]);
  expect(judge(evidence, rules).violations).toMatchObject([{ invariant: 'I1' }, { invariant: 'I13' }]);
});
