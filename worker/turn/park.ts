import { commandIn, type InboundMessage, isSelfEntered, type Waiting } from '../../shared/flow/message.ts';
import { chatOf, type EntryId } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { callDecisions, type Decision, type ParkedQuestion } from '../../shared/state/turn/parking.ts';
import { turnOf } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { TurnJob } from '../lane/queue.ts';
import { type AttemptResult, TELEGRAM_AWAY } from '../lane/verdict.ts';
import { questionIn } from '../reply/question.ts';
import type { Asking } from '../tools/asking.ts';
import { isForModel } from './gather.ts';
import { waitThrottled } from './wait-for-telegram.ts';

/** The question is decided: a new attempt goes on, and knows the decision. */
const DECIDED = { kind: 'hand back', reason: 'decided' } as const;
const LATER_MS_MIN = 2_000;

/**
 * Parks a turn with a question: the question is shown once with its buttons, slot and job are given back, and the message
 * stays the head of its lane. The first of these decides it:
 * - a press, in the lane of commands (`worker/command/decide.ts`);
 * - a text that is written instead, which is taken out of the lane here;
 * - the end of its time, after which it counts as decided by nobody.
 *
 * If the process dies between sending the question and storing its id, the next attempt sends it again, with the same buttons.
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function parkTurn(turn: Turn<Env>, asking: Asking): Promise<AttemptResult> {
  const { env, parking } = turn;
  const before = parking.openQuestion?.id === asking.id ? parking.openQuestion : undefined;
  // Read before all else: a message that comes later counts as new, and wakes the turn.
  const depth = await env.lane.depth(turn.lane);
  const behind = before ? await env.lane.behind(turn.lane) : [];
  const parked = before ?? newlyParked(asking, turn.nowMs() + env.settings.APPROVAL_TIMEOUT_MS);
  const question: Question = { asking, parked };
  if (before) {
    if (turn.nowMs() >= parked.untilMs) return closeQuestion(turn, question, { how: 'late' });
    const next = behind.find((waiting) => isAnswer(turn, asking, waiting));
    if (next) return closeByText(turn, question, next);
  }
  const changes = [parking.park(parked, depth - 1)];
  if ((await turn.write('', changes, parking.expectUndecided(asking.id))) === 'unmet') return DECIDED;
  env.reach('parked');
  if (parking.messageIdOf(asking.id) !== undefined) {
    await notifyBehindQuestion(turn, asking, behind);
    return { kind: 'park', asking };
  }
  return showQuestion(turn, question);
}

interface Question {
  asking: Asking;
  parked: ParkedQuestion;
}

/** Sends the file with long arguments, if any, and then the question, so that people can read all before they decide. */
async function showQuestion(turn: Turn<Env>, question: Question): Promise<AttemptResult> {
  const { env } = turn;
  const { asking, parked } = question;
  const { parking } = turn;
  const { file, text, options } = questionIn(turn, asking, parked);
  if (file && !parking.hasFile(asking.id)) {
    await turn.assertOwned();
    const sent = await env.telegram.sendFile(turn.destination, file, { replyTo: options.replyTo, isSilent: true });
    if (!sent.ok) return notShown(turn, question, sent.failure);
    await turn.write('', [parking.markFileSent(asking.id)]);
  }
  // Ask Redis: the clock of this process may be ahead by half a second, and an answer be older than that.
  const askedAtMs = await env.chatState.nowMs();
  await turn.assertOwned();
  const sent = await env.telegram.sendMessage(turn.destination, text, options);
  if (sent.ok) env.reach('question shown');
  // After an unknown result the question may be in the chat: mark it as asked, so that an answer counts.
  if (sent.ok || mayHaveArrived(sent.failure))
    await turn.write('', [parking.markSent(asking.id, sent.ok ? sent.value.messageId : undefined, askedAtMs)]);
  return sent.ok ? { kind: 'park', asking } : notShown(turn, question, sent.failure);
}

/** Whether a message may be in the chat although its send failed. */
function mayHaveArrived({ kind, isAnswered }: TelegramFailure): boolean {
  return kind === 'unknown' && !isAnswered;
}

/** Handles a failed send of the question or its file: retries later, or decides `untold` if the chat refuses messages. */
async function notShown(turn: Turn<Env>, question: Question, failure: TelegramFailure): Promise<AttemptResult> {
  const { kind, retryAfterMs } = failure;
  if (kind === 'throttled') return waitThrottled(turn, failure);
  // The model goes on without a decision; the delivery of its answer will meet the same refusal.
  if (kind === 'gone' || kind === 'rejected' || kind === 'migrated')
    return closeQuestion(turn, question, { how: 'untold' });
  const leftMs = question.parked.untilMs - turn.nowMs();
  const waitedMs = turn.env.settings.APPROVAL_TIMEOUT_MS - leftMs;
  // The question may be in the chat: it is sent again ever more rarely.
  const restMs = mayHaveArrived(failure) ? Math.min(waitedMs / 2, leftMs) : 0;
  const delayMs = Math.max(LATER_MS_MIN, restMs, retryAfterMs ?? 0);
  return { kind: 'later', delayMs, reason: TELEGRAM_AWAY, isUncounted: true };
}

/**
 * Notifies the people whose messages wait behind a question that stands in the chat. Each person but the one who was asked
 * gets one line for the question: what the chat waits for, and who can decide. What the gateway entered is said at
 * once; the model answers it in its turn. Each notice is marked as sent before it is sent: if the process dies in between,
 * that notice is lost, and the message is still answered later.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
async function notifyBehindQuestion(turn: Turn<Env>, { id }: Asking, waiting: readonly Waiting[]): Promise<void> {
  const { telegram, selfEntered } = turn.env;
  if (!turn.message.ok) return;
  const { from: asker } = turn.message.value;
  for (const { entry, message, isMerged } of waiting) {
    const { content, from, messageId } = message;
    const own = selfEntered.get(content.kind);
    if (own) {
      const step = `said before its turn: ${entry}`;
      if ((await turn.write(step, [])) === 'written')
        await telegram.sendMessage(turn.destination, own.behindQuestion(message, turn.texts));
    } else if (!isMerged && from.id !== asker.id && isForModel(message)) {
      const step = `question ${id} named to ${from.id}`;
      if ((await turn.write(step, [])) === 'written')
        await telegram.sendMessage(turn.destination, turn.texts.approval.behind(asker.name ?? ''), {
          replyTo: messageId,
        });
    }
  }
}

/**
 * Closes a race: a press or a text that arrives while the parking job exists cannot add a new job. Call this when that
 * job is over: it adds one if the question was decided, or a message came. Contract: rejects while Redis is away.
 */
export async function resumeParked({ lane, chatState }: Env, { entry, chat }: TurnJob): Promise<void> {
  const waiting = await chatState.parked(entry, chatOf(chat));
  if (waiting && !waiting.parking.staysParked((await lane.depth(chat)) - 1)) await chatState.wake(waiting.head);
}

function newlyParked(asking: Asking, untilMs: number): ParkedQuestion {
  const { id } = asking;
  if (asking.kind === 'question') return { id, untilMs, choices: asking.choices, calls: [] };
  const calls = asking.calls.map(({ id, name: tool, definition }) => ({ id, tool, definition }));
  const beyond = asking.beyond.map(({ id, name: tool }) => ({ id, tool, how: 'beyond' as const }));
  return { id, untilMs, choices: [], calls: [...calls, ...beyond] };
}

/** A plain text is the answer, and becomes a part of this message. Anything else declines, and is answered next. */
function closeByText(
  turn: Turn<Env>,
  question: Question,
  { entry, message: { from, content, forwardedFrom } }: Waiting,
): Promise<AttemptResult> {
  const by = { id: from.id, name: from.name };
  return isPlainText(content) && forwardedFrom === undefined
    ? closeQuestion(turn, question, { how: 'written', by, text: content.text }, entry)
    : closeQuestion(turn, question, { how: 'declined', by });
}

async function closeQuestion(
  turn: Turn<Env>,
  { parked }: Question,
  made: Decision,
  written?: EntryId,
): Promise<AttemptResult> {
  const { env } = turn;
  const { id } = parked;
  const { parking } = turn;
  const piece = written && turnOf(turn.keys, written);
  const decided = await commit(turn, {
    step: '',
    changes: [
      ...parking.decide(id, { ...made, ...callDecisions(parked, made.how) }, turn.nowMs()),
      ...(piece ? [piece.merge.mergeInto(turn.entry)] : []),
    ],
    expected: [
      ...parking.expectUndecided(id),
      parking.expectNewest(parked),
      ...(piece ? [piece.expectNotCancelled()] : []),
    ],
    events: [{ event: 'question.decided', of: turn.entry, how: made.how, by: made.by?.id, tools: [] }],
  });
  // Best effort: a late press gets a notice that it is late.
  const shown = parking.messageIdOf(id);
  if (decided !== 'unmet' && shown !== undefined) await env.telegram.removeButtons(turn.destination, shown);
  return DECIDED;
}

/** Whether a text can be shown whole in the result of a tool. */
function isPlainText(content: InboundMessage['content']): content is { kind: 'text'; text: string } {
  return content.kind === 'text' && content.files === undefined && content.sound === undefined;
}

/** Whether the same person wrote a message for the model, as no guest, after the question was shown. */
function isAnswer(turn: Turn, { id }: Asking, { entry, message: next, isMerged }: Waiting): boolean {
  const { message } = turn;
  const askedAtMs = turn.parking.sentAtMs(id);
  return (
    message.ok &&
    !isMerged &&
    askedAtMs !== undefined &&
    msOf(entry) >= askedAtMs &&
    next.from.id === message.value.from.id &&
    next.from.isGuest !== true &&
    !isSelfEntered(next) &&
    commandIn(next) === undefined
  );
}
