import type { EntryId } from '../../shared/redis/keys.ts';
import { EN } from '../../shared/texts/en.ts';
import type { Evidence } from './evidence.ts';
import type { Ground } from './ground.ts';
import { type Asked, inOrder, messagesOf, repliesIn } from './message.ts';
import { saidIn } from './oracle.ts';
import type { Plan } from './plan.ts';
import { cancels, isCommand, type Send, type Shown } from './telegram.ts';

/** An invariant of the design that does not hold, with what was seen. */
export interface Violation {
  readonly invariant: `I${number}`;
  readonly seen: string;
}

/** What somebody did, and how they wanted it answered. */
type Told = Pick<Plan, 'written' | 'merges'>;
type Seen = Pick<Ground, 'history' | 'calls' | 'acts' | 'runs' | 'layout'>;

const TRACE = /^(?!0{32})[0-9a-f]{32}$/;

/** Judges what a schedule came to, once it is at rest. Pure. */
export function judge(plan: Told, ground: Seen, evidence: Evidence): Violation[] {
  const messages = messagesOf(plan.written, ground, evidence);
  const chats = [...new Set(messages.map(({ chatId }) => chatId))];
  const ofChats = chats.map((chatId) => messages.filter((each) => each.chatId === chatId));
  return [
    ...judgeOutcomes(plan, messages, ground, evidence),
    ...judgePresses(messages, ground, evidence),
    ...judgeAttempts(ground, evidence),
    ...judgeRest(evidence, ground),
    ...messages.flatMap((each) => judgeCopies(each, ground)),
    ...ofChats.flatMap((own) => [...judgeOrder(own, ground.history.shown), ...judgeCommands(own, ground)]),
    ...judgeCalls(messages, ground),
    ...ofChats.flatMap((own) => judgeLog(own, ground, evidence)),
    ...ground.layout.cutDelays.map((seen) => ({ invariant: 'I4' as const, seen })),
  ];
}

/** I1, I3, I9: each message has one outcome, all were answered, those of a chat in order, and each names its trace. */
function judgeOutcomes(
  plan: Told,
  messages: readonly Asked[],
  { history: { presses } }: Seen,
  { outcomes }: Evidence,
): Violation[] {
  const entries = outcomes.map(({ entry }) => entry);
  const written = new Set(messages.map(({ entry }) => entry));
  const of = new Map<string, EntryId[]>();
  // A press overtakes what waits.
  for (const { chat = '', entry } of outcomes.filter((each) => written.has(each.entry)))
    of.set(chat, [...(of.get(chat) ?? []), entry]);
  const pressed = outcomes.filter(({ entry, outcome }) => !written.has(entry) && outcome === 'command');
  const isSorted = (ids: readonly EntryId[]) => ids.every((id, at) => at === 0 || inOrder(ids[at - 1] ?? id, id) < 0);
  return [
    ...unless(
      entries.length === messages.length + presses.length && pressed.length === presses.length,
      'I1',
      `${messages.length} messages and ${presses.length} presses have ${entries.length} outcomes, ${pressed.length} of presses`,
    ),
    ...unless(new Set(entries).size === entries.length, 'I1', 'a message has two outcomes'),
    ...messages
      .filter((each) => !mayEndAs(plan, each, messages))
      .flatMap(({ outcome, name }) => violation('I1', `${name} ended as ${outcome}`)),
    ...outcomes.filter(({ traceId }) => !TRACE.test(traceId)).flatMap(() => violation('I9', 'an outcome has no trace')),
    ...[...of.values()].filter((ids) => !isSorted(ids)).flatMap(() => violation('I3', 'outcomes are out of order')),
  ];
}

/**
 * A message is answered, or cancelled by a command behind it. A forward may go into what is before it, a question into the
 * forward behind it, and where a chat wants that, a message is answered together with a later one.
 */
function mayEndAs({ merges }: Told, message: Asked, messages: readonly Asked[]): boolean {
  const { chat, into, kind, number, outcome } = message;
  if (isCommand(message)) return outcome === 'command';
  const own = messages.filter((each) => each.chat === chat);
  if (outcome === 'cancelled') return own.some((each) => cancels(each) && each.number > number);
  if (outcome !== 'merged') return outcome === 'answered';
  const first = own.find(({ entry }) => entry === into);
  if (first === undefined || isCommand(first)) return false;
  if (first.number > number) return merges || isComment(message, messages);
  if (first.kind === 'request') return kind === 'question';
  const between = own.filter((each) => each.number > first.number && each.number <= number);
  return kind === 'forward' && between.length > 0 && between.every((each) => each.kind === 'forward');
}

/**
 * I1, I2, I4: whoever presses is told what became of it. One press decides, and only one that allows a call has it made,
 * once: a call whose result was lost is not repeated.
 */
function judgePresses(messages: readonly Asked[], { acts, history, runs }: Seen, { unsure }: Evidence): Violation[] {
  const told = history.shown.flatMap(({ text }) => PRESSED.exec(text) ?? []);
  const decided = new Set(told.filter((said) => said !== OVER && !CONTINUED.has(said)));
  const lost = history.sends.filter(({ isUnknown, text }) => isUnknown && PRESSED.test(text)).length;
  const cut = runs.filter(({ wasCut }) => wasCut).length;
  const untold = unsure.size - messages.filter(({ isUnsure }) => isUnsure).length;
  // What nobody could see may have allowed the call.
  const mayAct = decided.size === 0 ? untold > 0 : !decided.has('Declined');
  return [
    ...unless(told.length + untold >= history.presses.length, 'I1', `${history.presses.length} presses, told ${told}`),
    ...unless(told.length <= history.presses.length + lost + cut, 'I2', `a press is told twice: ${told}`),
    ...unless(decided.size <= 1, 'I1', `two presses decided: ${[...decided]}`),
    ...messages.flatMap(({ entry, kind, name, outcome }) => {
      const made = acts.filter((each) => each === entry).length;
      if (made > 1 || (made === 1 && !mayAct)) return violation('I4', `${made} calls for ${name}: ${[...decided]}`);
      const isDue = kind === 'request' && outcome === 'answered' && decided.size > 0 && mayAct && cut === 0;
      return isDue && made === 0 ? violation('I1', `${name} was allowed, and no call was made`) : [];
    }),
  ];
}

const OVER = 'This question is closed';
const BACK = "We're back in this conversation";
/** What a press is told that continues a conversation. */
const CONTINUED = new Set([BACK, "We're in that conversation already"]);
/** What a press is told. */
const PRESSED =
  /Allowed once|is now allowed here|Declined|This question is closed|We're back in this conversation|We're in that conversation already/;

/** Whether a question went into the forward right behind it: it was asked alone before that came. */
function isComment({ chat, kind, into, number, outcome }: Asked, messages: readonly Asked[]): boolean {
  const next = messages.find((each) => each.chat === chat && each.number === number + 1);
  return outcome === 'merged' && kind === 'question' && next?.kind === 'forward' && next.entry === into;
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
    ...unless(
      accepted === settled && settled === outcomes.length,
      'I7',
      `the ledger counts ${accepted} accepted and ${settled} settled, and has ${outcomes.length} lines`,
    ),
    ...alerts.flatMap((cause) => violation('I8', `an alert: ${cause}`)),
  ];
}

/**
 * I1, I2: a reply stands once, or the operator is told that it may be missing; once more only where nobody could know what
 * came of a send. Never two answers. Of what was cancelled nothing stands, or what was said until then.
 */
function judgeCopies(message: Asked, { history, runs }: Seen): Violation[] {
  const { entry, name, outcome, isUnsure } = message;
  if (outcome === 'merged') return [];
  const isReply = (each: Shown | Send) => repliesIn(each, message).length > 0;
  const texts = history.shown.filter(isReply).map(({ text }) => text);
  const replies = history.shown.flatMap((each) => repliesIn(each, message));
  const own = runs.filter(({ job, wasCut }) => wasCut && job.entry === entry);
  const cut = new Set(own.map(({ by }) => by.name));
  const doubtful = history.sends.filter((send) => isReply(send) && (send.isUnknown || cut.has(send.by))).length;
  const isCancelled = outcome === 'cancelled';
  return [
    ...unless(replies.length > 0 || isCancelled || isUnsure, 'I1', `${name} shows no reply`),
    ...unless(new Set(replies).size <= 1, 'I2', `${name} shows two replies: ${replies.join(' ')}`),
    ...unless(replies.length <= 1 + doubtful, 'I2', `the reply to ${name} stands ${replies.length} times`),
    ...unless(
      texts.every((text) => text.includes(EN.stoppedHere) === isCancelled),
      'I2',
      `${name} is ${outcome}, and shows ${texts.join(' ')}`,
    ),
  ];
}

/** I3: the replies of a chat stand in the order of its messages. One that counts as unsure may arrive after its successors. */
function judgeOrder(messages: readonly Asked[], shown: readonly Shown[]): Violation[] {
  const [{ chat = '' } = {}] = messages;
  const repliedTo = (text: Shown) => messages.filter((each) => !each.isUnsure && repliesIn(text, each).length > 0);
  const numbers = shown.flatMap(repliedTo).map(({ number }) => number);
  const first = [...new Set(numbers)];
  return first.every((number, at) => at === 0 || number > (first[at - 1] ?? 0))
    ? []
    : violation('I3', `the replies of ${chat} came as ${first.join(', ')}`);
}

/** I1: a stop says whether it cancelled something. */
function judgeCommands(messages: readonly Asked[], { history }: Seen): Violation[] {
  const told = messages.filter(({ outcome }) => outcome === 'cancelled').length > 0 ? EN.stopped : EN.nothingToStop;
  return messages
    .filter(({ kind }) => kind === 'stop')
    .flatMap((stop) => history.shown.flatMap((each) => repliesIn(each, stop)))
    .filter((reply) => reply !== told)
    .flatMap((reply) => violation('I1', `a stop says "${reply}", where "${told}" is true`));
}

/** I10, I11: the model was shown the conversation as its people saw it. What was cancelled may stand in it, or not. */
function judgeCalls(messages: readonly Asked[], { calls, history }: Seen): Violation[] {
  const first = messages
    .filter((each) => each.outcome !== 'merged' || isComment(each, messages))
    // What was written instead of a press is not there yet when the model asks back.
    .flatMap((each) => (each.kind === 'request' ? [each, { ...each, shown: each.shown.slice(0, 1) }] : [each]));
  return calls.flatMap(({ shown }) => {
    const asked = first.find((each) => each.shown.at(-1) === shown.at(-1));
    if (asked === undefined) return violation('I11', `the model was asked ${shown.at(-1)}`);
    const own = messages.filter(({ chat, number }) => chat === asked.chat && number < asked.number);
    const at = shown.length - asked.shown.length;
    const expected = [...withoutDoubtful(conversation(own, history.shown), own), ...asked.shown].join(' ');
    const seen = [...withoutDoubtful(shown.slice(0, at), own), ...shown.slice(at)].join(' ');
    return seen === expected ? [] : violation('I10', `the model saw "${seen}", not "${expected}"`);
  });
}

/** I10: the log keeps the conversation. */
function judgeLog(messages: readonly Asked[], { history: { shown, presses } }: Seen, { logs }: Evidence): Violation[] {
  const [{ chatId = 0 } = {}] = messages;
  const held = saidIn(logs.get(chatId) ?? '');
  const own = presses.filter((press) => press.chatId === chatId);
  const ofChat = shown.filter((each) => each.chatId === chatId);
  const isBack = ofChat.some(({ text }) => text.includes(BACK));
  const told = ofChat.filter(({ text }) => PRESSED.test(text)).length;
  // A press of whose effect nobody was told may have moved the chat.
  const mayBeEither = told < own.length;
  const [is = '', ...expected] = [
    held,
    ...(isBack ? [] : [conversation(messages, shown, 'now', 'log')]),
    ...(isBack || mayBeEither ? [conversation(messages, shown, 'before', 'log')] : []),
  ].map((said) => withoutDoubtful(said, messages).join(' '));
  const isTwice = (said: string, at: number) => said.startsWith('Answer') && held.indexOf(said) !== at;
  const twice = held.find(isTwice);
  return [
    ...unless(expected.includes(is), 'I10', `the log holds "${is}", not "${expected.join('" or "')}"`),
    ...unless(twice === undefined, 'I11', `the log holds "${twice}" twice`),
  ];
}

/**
 * What was asked and answered in a chat since its last `/new`, or before that. Requests show only the last answer to what was
 * asked again; the log keeps all.
 */
function conversation(
  messages: readonly Asked[],
  shown: readonly Shown[],
  which: 'now' | 'before' = 'now',
  where: 'request' | 'log' = 'request',
): string[] {
  const start = messages.findLastIndex(({ kind }) => kind === 'new') + 1;
  const own = which === 'now' ? messages.slice(start) : messages.slice(0, Math.max(0, start - 1));
  const answered = own.filter(({ outcome }) => outcome === 'answered');
  const isLast = (each: Asked) => answered.findLast(({ origin }) => origin === each.origin) === each;
  return answered
    .filter((each) => where === 'log' || isLast(each))
    .flatMap((each) => [...each.shown, ...shown.flatMap((text) => repliesIn(text, each)).slice(0, 1)]);
}

/** Without what may stand in a log or not: messages that were cancelled, and answers that may be missing in the chat. */
function withoutDoubtful(said: readonly string[], messages: readonly Asked[]): string[] {
  const cancelled = messages.filter(({ outcome }) => outcome === 'cancelled').flatMap(({ shown }) => shown);
  const isUnsure = (text: string) =>
    messages.some((each) => each.isUnsure && repliesIn({ ...each, text }, each).length > 0);
  return said.filter((text) => !cancelled.includes(text) && !isUnsure(text));
}

function violation(invariant: Violation['invariant'], seen: string): Violation[] {
  return [{ invariant, seen }];
}

function unless(holds: boolean, invariant: Violation['invariant'], seen: string): Violation[] {
  return holds ? [] : violation(invariant, seen);
}
