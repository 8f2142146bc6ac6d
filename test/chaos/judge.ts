/**
 * Judges a run against the design's invariants, from what the stand-ins saw. Pure: the same evidence gives the same
 * violations.
 */
import { type Asking, askedAgain, askedInOrder, overlapping } from './asking.ts';
import { type Endings, readEndings } from './ending.ts';
import { type Evidence, TRIED } from './evidence.ts';
import type { Excuse } from './fault.ts';
import { lateIn } from './hearing.ts';
import { loudIn } from './quiet.ts';
import { misremembered } from './remembering.ts';
import { actsAtOnce, readChat, type Telling } from './telling.ts';
import { type Asked, marksIn } from './traffic.ts';
import { wronglyTold } from './unclean-ends.ts';

/** The invariants of the design that a run is judged by. */
export type Invariant =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I10'
  | 'I11'
  | 'I12'
  | 'I13'
  | 'I14';

/** An invariant that does not hold, with what was seen. */
export interface Violation {
  invariant: Invariant;
  chatId?: number;
  /** The number of the message. */
  message?: number;
  seen: string;
}

/** What a scenario allows. */
export interface Rules {
  /** Model calls for one message: 4 for a message that recovers, and its transient attempts. */
  callsMax: number;
  /** Messages that end in something else than an answer: told, but not answered. */
  unansweredMax: number;
  /** Statuses with which the model ends a message at once: one that met such a call may go unanswered, but not unreportedCompactions. */
  refusals: readonly number[];
  alertsMin: number;
  alertsMax: number;
  /** Whether the operator must be told of a process that crashed. */
  isEndTold: boolean;
  /** What every alert says. */
  alertLike: RegExp;
}

/** `MAX_ATTEMPTS` is 5 by default, and a recovery may use 4 calls of its own. */
export const USUAL_RULES: Rules = {
  callsMax: 9,
  unansweredMax: 0,
  refusals: [],
  alertsMin: 0,
  alertsMax: 0,
  isEndTold: false,
  alertLike: /./,
};

/** What a judgement comes to. The counts are of all messages, whether they are violations or not. */
export interface Judgement {
  violations: readonly Violation[];
  lost: number;
  outOfOrder: number;
  contractViolations: number;
  /** Texts that stand twice in a chat and placeholders that were left, where the send's result was unknown. */
  extra: number;
  unanswered: number;
  /** Main calls beyond the first of each message: how much the faults really hit. */
  again: number;
  cut: number;
}

/** How long after a fault a lock that ran out in it may still be taken over. */
const TAKE_OVER_MS = 4_000;
const COPIES_MAX = 2;
const TRACE = /^(?!0{32})[0-9a-f]{32}$/;

/** Judges a run. */
export function judge(evidence: Evidence, rules: Rules): Judgement {
  const readings = [...evidence.shown.keys()].map((chatId): [number, Telling] => [
    chatId,
    readChat(
      evidence.asked.filter((asked) => asked.chatId === chatId),
      evidence.shown.get(chatId) ?? [],
    ),
  ]);
  const asking = askedInOrder(evidence);
  const endings = readEndings(
    evidence,
    readings.map(([, reading]) => reading.told),
  );
  const outcomes = judgeOutcomes(endings);
  const copies = judgeCopies(evidence, readings);
  const order = judgeOrder(readings);
  const contractViolations = judgeContract(evidence);
  return {
    violations: [
      ...outcomes,
      ...copies.violations,
      ...order,
      ...judgeCalls(evidence, asking, rules),
      ...judgeMemory(evidence, asking, readings),
      ...contractViolations,
      ...judgeEnd(evidence),
      ...judgeUnanswered(endings, asking, rules),
      ...judgeAlerts(evidence, rules),
      ...wronglyTold(evidence, rules).map((seen) => ({ invariant: 'I8' as const, seen })),
      ...judgeTraces(evidence),
      ...judgeSeen(endings),
      ...loudIn(evidence).map((seen) => ({ invariant: 'I14' as const, seen })),
      ...lateIn(evidence.waits).map((seen) => ({ invariant: 'I12' as const, seen })),
    ],
    lost: outcomes.filter(({ invariant }) => invariant === 'I1').length,
    outOfOrder: order.length,
    contractViolations: contractViolations.length,
    extra: copies.extra,
    unanswered: endings.unanswered.length,
    again: askedAgain(asking),
    cut: evidence.cut.accepts.size,
  };
}

const about = ({ chatId, number }: Asked): Pick<Violation, 'chatId' | 'message'> => ({ chatId, message: number });

/** I1: each message that was confirmed has exactly one outcome, and somebody was told. */
function judgeOutcomes({ wrong }: Endings): Violation[] {
  return wrong.map(({ asked, why }) => ({ invariant: 'I1', ...about(asked), seen: why }));
}

/** I2: a text stands once in its chat; a second time only where nobody could know what came of the first send. */
function judgeCopies(
  evidence: Evidence,
  readings: readonly [number, Telling][],
): { violations: Violation[]; extra: number } {
  const violations: Violation[] = [];
  let extra = 0;
  for (const [chatId, { told, strays, foreign }] of readings) {
    for (const message of foreign) {
      violations.push({ invariant: 'I2', chatId, seen: `an answer of another chat: ${message.text.slice(0, 60)}` });
    }
    for (const stray of strays) {
      extra += 1;
      if (isExcused(evidence, 'send', stray.at, stray.at + TAKE_OVER_MS)) continue;
      if (wasUnknown(evidence, chatId, (text) => text === stray.text)) continue;
      violations.push({ invariant: 'I2', chatId, seen: `a placeholder was left at ${stray.at}` });
    }
    for (const each of told) {
      for (const [part, copies] of each.parts) {
        if (copies === 1) continue;
        extra += copies - 1;
        const why = unexcusedCopies(evidence, each.asked, part, copies);
        if (why !== undefined) violations.push({ invariant: 'I2', ...about(each.asked), seen: why });
      }
    }
  }
  return { violations, extra };
}

function unexcusedCopies(evidence: Evidence, asked: Asked, part: number, copies: number): string | undefined {
  if (evidence.cut.outcomes.has(asked.updateId)) return undefined;
  const seen = `part ${part} stands ${copies} times`;
  if (copies > COPIES_MAX) return seen;
  const isIt = (text: string): boolean =>
    marksIn(text).some((mark) => mark.number === asked.number && mark.part === part);
  if (wasUnknown(evidence, asked.chatId, isIt)) return undefined;
  const showing = callsWith(evidence, asked.chatId, isIt);
  // A repeat is edited in after a take-over. A reply to a command carries no number: its calls are not told apart.
  const [from, to] = [showing[0]?.at ?? 0, showing.at(-1)?.at ?? Number.POSITIVE_INFINITY];
  return isExcused(evidence, 'send', from, to) ? undefined : seen;
}

function callsWith({ telegramCalls }: Evidence, chatId: number, isIt: (text: string) => boolean) {
  return telegramCalls.filter(({ params }) => Number(params.chat_id) === chatId && isIt(String(params.text)));
}

/** Whether a send of such a text got no answer, or one that does not say what came of it. */
function wasUnknown(evidence: Evidence, chatId: number, isIt: (text: string) => boolean): boolean {
  return callsWith(evidence, chatId, isIt).some(
    ({ method, status }) => method === 'sendMessage' && (status === 0 || status >= 500),
  );
}

/** Whether a fault that excuses it fell into that time, or ended just before: a lock is taken over after the fault. */
function isExcused({ faults }: Evidence, excuse: Excuse, fromMs: number, toMs: number): boolean {
  return faults.some(
    (fault) => fault.excuses.includes(excuse) && fault.fromMs <= toMs && fault.toMs + TAKE_OVER_MS >= fromMs,
  );
}

/** I3: answers stand in the order of the questions, and came in that order, in each of a chat's two lanes. */
function judgeOrder(readings: readonly [number, Telling][]): Violation[] {
  return readings.flatMap(([, { told, late }]) => {
    const early = [false, true].flatMap((isAtOnce) => {
      const times = told.filter((each) => actsAtOnce(each.asked) === isAtOnce && each.firstAtMs !== undefined);
      return times.filter((each, index) => (times[index - 1]?.firstAtMs ?? 0) > (each.firstAtMs ?? 0));
    });
    return [
      ...late.map(({ asked }) => ({ ...about(asked), seen: 'its answer stands behind that of a later message' })),
      ...early.map(({ asked }) => ({ ...about(asked), seen: 'its answer came before that of an earlier message' })),
    ].map((each) => ({ invariant: 'I3' as const, ...each }));
  });
}

/** I3, I4 and I11: one call at a time in a chat, not too many for a message, and each with the message as it was written. */
function judgeCalls(evidence: Evidence, { byAsked, strange }: Asking, rules: Rules): Violation[] {
  const violations: Violation[] = strange.map((each) => ({ invariant: 'I11', ...each }));
  for (const [asked, calls] of byAsked) {
    if (calls.length <= rules.callsMax || evidence.cut.outcomes.has(asked.updateId)) continue;
    const seen = `${calls.length} calls, more than ${rules.callsMax}: ${calls.map(({ status }) => status)}`;
    violations.push({ invariant: 'I4', ...about(asked), seen });
  }
  for (const { asked, first, second } of overlapping(byAsked)) {
    const until = Math.max(first.endedAt ?? second.at, second.at);
    if (isExcused(evidence, 'overlap', first.at, until)) continue;
    const seen = `call ${second.index} began at ${second.at}, while call ${first.index} ran until ${first.endedAt}`;
    violations.push({ invariant: 'I3', ...about(asked), seen });
  }
  return violations;
}

/** I10: at the end each chat's conversation holds what was answered in it, in order, each turn once and with its answer. */
function judgeMemory(
  { calls, cut }: Evidence,
  { byAsked }: Asking,
  readings: readonly [number, Telling][],
): Violation[] {
  const compactions = calls.filter(({ kind }) => kind === 'compaction');
  return readings
    .flatMap(([, { told }]) => misremembered({ told, byAsked, compactions, cut }))
    .map(({ asked, seen }) => ({ invariant: 'I10', ...about(asked), seen }));
}

/** I5: no request breaks the contract of either API. */
function judgeContract({ calls, telegramCalls }: Evidence): Violation[] {
  const refused = telegramCalls.filter(
    ({ method, status, description = '' }) => status === 400 && !TRIED.test(`${method}: ${description}`),
  );
  return [
    ...calls.flatMap(({ index, violation }) =>
      violation ? [`model call ${index} broke rule ${violation.rule}: ${violation.message.slice(0, 200)}`] : [],
    ),
    ...refused.map(({ method, description }) => `${method} was refused: ${description}`),
  ].map((seen) => ({ invariant: 'I5', seen }));
}

/** I6 and I7: the backlog drained in time, and nothing is left at work. */
function judgeEnd({ drainMs, left, asked, confirmedUpTo }: Evidence): Violation[] {
  const unconfirmed = asked.filter(({ updateId }) => updateId > confirmedUpTo).length;
  return [
    ...(drainMs === undefined ? [{ invariant: 'I6' as const, seen: `not drained; ${left.join(', ')}` }] : []),
    ...(unconfirmed > 0 ? [{ invariant: 'I6' as const, seen: `${unconfirmed} updates were not taken` }] : []),
    ...(left.length > 0 ? [{ invariant: 'I7' as const, seen: `left: ${left.join(', ')}` }] : []),
  ];
}

/** I1, the strict half: a fault that passes must not cost an answer, unless the scenario says how many it may cost. */
function judgeUnanswered(
  { unanswered }: Endings,
  { byAsked }: Asking,
  { unansweredMax, refusals }: Rules,
): Violation[] {
  const left = unanswered.filter(({ asked }) => !byAsked.get(asked)?.some(({ status }) => refusals.includes(status)));
  if (left.length <= unansweredMax) return [];
  const [first] = left;
  const seen = `${left.length} messages have no answer, more than ${unansweredMax}`;
  return [{ invariant: 'I1', ...(first && about(first.asked)), seen }];
}

/** I8: an alert where one is needed, and not too many. */
function judgeAlerts({ alerts, cut }: Evidence, { alertsMin, alertsMax, alertLike }: Rules): Violation[] {
  if (alerts.length === 0 && cut.accepts.size > 0)
    return [{ invariant: 'I8', seen: `${cut.accepts.size} accepted messages are lost, and nobody was told` }];
  const other = alerts.filter((text) => !alertLike.test(text));
  if (other.length === 0 && alerts.length >= alertsMin && alerts.length <= alertsMax) return [];
  const told = (other.length > 0 ? other : alerts).map((text) => text.slice(0, 160)).join(' | ');
  const seen = `${alerts.length} alerts (${other.length} of another kind), not ${alertsMin} to ${alertsMax}: ${told}`;
  return [{ invariant: 'I8', seen }];
}

/** I13: what the ledger calls answered was seen, every part of it; what it calls unsure says so itself. */
function judgeSeen({ unseen }: Endings): Violation[] {
  return unseen.map(({ asked, why }) => ({ invariant: 'I13', ...about(asked), seen: why }));
}

/** I9: every outcome has a trace. */
function judgeTraces({ ledger }: Evidence): Violation[] {
  return ledger
    .filter(({ traceId }) => !TRACE.test(traceId))
    .map(({ entry, outcome }) => ({ invariant: 'I9', seen: `entry ${entry}, ${outcome}, has no trace` }));
}
