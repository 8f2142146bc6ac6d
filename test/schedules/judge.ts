import type { EntryId } from '../../shared/redis/keys.ts';
import type { Evidence } from './evidence.ts';
import type { Ground } from './ground.ts';
import { saidIn } from './oracle.ts';
import { type Shown, type Written, wordsOf } from './telegram.ts';

/** An invariant of the design that does not hold, with what was seen. */
export interface Violation {
  readonly invariant: `I${number}`;
  readonly seen: string;
}

type Seen = Pick<Ground, 'history' | 'calls' | 'runs' | 'layout'>;

const TRACE = /^(?!0{32})[0-9a-f]{32}$/;

/** Judges what a schedule came to, once it is at rest. Pure. */
export function judge(written: readonly Written[], ground: Seen, evidence: Evidence): Violation[] {
  return [
    ...judgeOutcomes(written, evidence),
    ...judgeAttempts(ground, evidence),
    ...judgeRest(evidence, ground),
    ...written.flatMap((each) => judgeCopies(each, ground)),
    ...[...new Set(written.map(({ chat }) => chat))].flatMap((chat) => judgeOrder(chat, ground.history.shown)),
    ...judgeMemory(written, ground, evidence),
    ...ground.layout.cutDelays.map((seen) => ({ invariant: 'I4' as const, seen })),
  ];
}

/** I1, I3, I9: each message has one outcome, all were answered, those of a chat in order, and each names its trace. */
function judgeOutcomes(written: readonly Written[], { outcomes }: Evidence): Violation[] {
  const entries = outcomes.map(({ entry }) => entry);
  const of = new Map<string, EntryId[]>();
  for (const { chat = '', entry } of outcomes) of.set(chat, [...(of.get(chat) ?? []), entry]);
  const isSorted = (ids: readonly EntryId[]) => ids.every((id, at) => at === 0 || inOrder(ids[at - 1] ?? id, id) < 0);
  return [
    ...(entries.length === written.length
      ? []
      : violation('I1', `${written.length} messages have ${entries.length} outcomes`)),
    ...(new Set(entries).size === entries.length ? [] : violation('I1', 'a message has two outcomes')),
    ...outcomes
      .filter(({ outcome }) => outcome !== 'answered')
      .flatMap(({ outcome, reason = '' }) => violation('I1', `a message ended as ${outcome} ${reason}`)),
    ...outcomes.filter(({ traceId }) => !TRACE.test(traceId)).flatMap(() => violation('I9', 'an outcome has no trace')),
    ...[...of.values()].filter((ids) => !isSorted(ids)).flatMap(() => violation('I3', 'outcomes are out of order')),
  ];
}

/** I4: an attempt is counted once, and the model is asked no more often than a message was tried. */
function judgeAttempts({ runs }: Seen, { outcomes }: Evidence): Violation[] {
  return outcomes.flatMap(({ entry, attempts }) => {
    const tried = runs.filter(({ job }) => job.entry === entry).length;
    return attempts <= tried ? [] : violation('I4', `${attempts} attempts are counted in ${tried} runs`);
  });
}

/** I7, I8: nothing is left behind, the ledger adds up, and nobody is alarmed. */
function judgeRest(evidence: Evidence, { runs }: Seen): Violation[] {
  const { entries, pending, lanes, suspects, accepted, settled, alerts, outcomes } = evidence;
  const left = {
    entries,
    pending,
    lanes: lanes.length,
    suspects,
    runs: runs.filter((run) => !run.isOver && !run.by.isDead).length,
  };
  return [
    ...Object.entries(left)
      .filter(([, count]) => count > 0)
      .flatMap(([what, count]) => violation('I7', `${count} ${what} are left`)),
    ...(accepted === settled && settled === outcomes.length
      ? []
      : violation(
          'I7',
          `the ledger counts ${accepted} accepted and ${settled} settled, and has ${outcomes.length} lines`,
        )),
    ...alerts.filter((cause) => cause !== 'unsure').flatMap((cause) => violation('I8', `an alert: ${cause}`)),
  ];
}

/** I2: an answer stands once; once more only where nobody could know what came of a send. Never two answers. */
function judgeCopies({ chat, chatId, number }: Written, { history, runs }: Seen): Violation[] {
  const answers = history.shown
    .flatMap(({ text }) => answersIn(text))
    .filter((said) => said.endsWith(`to ${chat}-${number}.`));
  const lane = `${chatId}`;
  const entries = [...new Set(runs.filter(({ job }) => job.chat === lane).map(({ job }) => job.entry))].sort(inOrder);
  const own = runs.filter(({ job, wasCut }) => wasCut && job.entry === entries[number - 1]);
  const cut = new Set(own.map(({ by }) => by.name));
  const sends = history.sends.filter(({ text }) => answersIn(text).some((said) => answers.includes(said)));
  const doubtful = sends.filter(({ by, isUnknown }) => isUnknown || cut.has(by)).length;
  const name = `${chat}-${number}`;
  return [
    ...(answers.length > 0 ? [] : violation('I1', `${name} shows no answer`)),
    ...(new Set(answers).size <= 1 ? [] : violation('I2', `${name} shows two answers: ${answers.join(' ')}`)),
    ...(answers.length <= 1 + doubtful ? [] : violation('I2', `the answer to ${name} stands ${answers.length} times`)),
  ];
}

/** I3: the answers of a chat stand in the order of its messages. */
function judgeOrder(chat: string, shown: readonly Shown[]): Violation[] {
  const numbers = shown.flatMap(({ text }) => answersIn(text)).flatMap((said) => numberIn(said, chat));
  const first = [...new Set(numbers)];
  return first.every((number, at) => at === 0 || number > (first[at - 1] ?? 0))
    ? []
    : violation('I3', `the answers of ${chat} came as ${first.join(', ')}`);
}

/** I10, I11: the model was shown the conversation as its people saw it, and the log keeps it. */
function judgeMemory(written: readonly Written[], { calls, history }: Seen, { logs }: Evidence): Violation[] {
  const answerTo = (each: Written) =>
    history.shown
      .flatMap(({ text }) => answersIn(text))
      .find((said) => said.endsWith(`to ${each.chat}-${each.number}.`)) ?? '';
  const ofChat = (chat: string) => written.filter((each) => each.chat === chat);
  const told = (each: Written) => [wordsOf(each), answerTo(each)];
  return [
    ...calls.flatMap(({ shown }) => {
      const last = written.find((each) => wordsOf(each) === shown.at(-1));
      if (last === undefined) return violation('I11', `the model was asked ${shown.at(-1)}`);
      const before = ofChat(last.chat).filter(({ number }) => number < last.number);
      const expected = [...before.flatMap(told), wordsOf(last)].join(' ');
      return shown.join(' ') === expected
        ? []
        : violation('I10', `the model saw "${shown.join(' ')}", not "${expected}"`);
    }),
    ...[...logs].flatMap(([chatId, log]) => {
      const own = written.filter((each) => each.chatId === chatId);
      const [is, expected] = [saidIn(log).join(' '), own.flatMap(told).join(' ')];
      return is === expected ? [] : violation('I10', `the log holds "${is}", not "${expected}"`);
    }),
  ];
}

/** Compares entries by their age. */
function inOrder(one: EntryId, other: EntryId): number {
  const [ms = 0, nth = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherNth = 0] = other.split('-').map(Number);
  return ms - otherMs || nth - otherNth;
}

function answersIn(text: string): string[] {
  return saidIn(text).filter((said) => said.startsWith('Answer'));
}

function numberIn(said: string, chat: string): number[] {
  const found = new RegExp(`to ${chat}-(\\d)\\.`).exec(said)?.[1];
  return found === undefined ? [] : [Number(found)];
}

function violation(invariant: Violation['invariant'], seen: string): Violation[] {
  return [{ invariant, seen }];
}
