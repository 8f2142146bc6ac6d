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

/** The question is decided, or the message was cancelled or concluded. The next attempt reads the new state and goes on. */
const DECIDED = { kind: 'hand back', reason: 'decided' } as const;
const LATER_MS_MIN = 2_000;

/**
 * Parks a turn, i.e. makes it wait for a person: sends the question with its buttons, unless it was sent before, and ends the
 * job. The message stays at the head of its lane. The first of these events decides the question:
 * - a press of a button, handled in the lane of commands (`worker/command/decide.ts`);
 * - the next message, except commands, by the person who was asked: a plain text is the answer, anything else declines;
 * - the timeout, which counts as no decision.
 *
 * If the process dies between sending the question and storing its id, the next attempt may send the question again. Contract:
 * throws `FencedError`, or what Redis throws.
 */
export async function parkTurn(turn: Turn<Env>, asking: Asking): Promise<AttemptResult> {
  const { env, parking } = turn;
  const storedPark = parking.openQuestion?.id === asking.id ? parking.openQuestion : undefined;
  // Read the depth of the lane first, so that each message that arrives after this read wakes the turn.
  const depth = await env.lane.depth(turn.lane);
  const waiting = storedPark ? await env.lane.behind(turn.lane) : [];
  const park = storedPark ?? parkFor(asking, turn.nowMs() + env.settings.APPROVAL_TIMEOUT_MS);
  const question: Question = { asking, park };
  if (storedPark) {
    if (turn.nowMs() >= park.untilMs) return closeQuestion(turn, question, { how: 'late' });
    const next = waiting.find((each) => isAnswer(turn, asking, each));
    if (next) return closeByText(turn, question, next);
  }
  const changes = [parking.park(park, depth - 1)];
  if ((await turn.write('', changes, parking.expectUndecided(asking.id))) === 'unmet') return DECIDED;
  env.reach('parked');
  if (parking.messageIdOf(asking.id) !== undefined) {
    await notifyBehindQuestion(turn, asking, waiting);
    return { kind: 'park', asking };
  }
  return showQuestion(turn, question);
}

interface Question {
  asking: Asking;
  park: ParkedQuestion;
}

/** Sends the file with long arguments, if any, and then the question, so that people can read everything before they decide. */
async function showQuestion(turn: Turn<Env>, question: Question): Promise<AttemptResult> {
  const { env, parking } = turn;
  const { asking, park } = question;
  const { file, text, options } = questionIn(turn, asking, park);
  if (file && !parking.hasFile(asking.id)) {
    await turn.assertOwned();
    const result = await env.telegram.sendFile(turn.destination, file, { replyTo: options.replyTo, isSilent: true });
    if (!result.ok) return afterFailedSend(turn, question, result.failure);
    await turn.write('', [parking.markFileSent(asking.id)]);
  }
  // Use the time of Redis: by this process's clock, a quick answer could seem older than its question.
  const askedAtMs = await env.chatState.nowMs();
  await turn.assertOwned();
  const result = await env.telegram.sendMessage(turn.destination, text, options);
  if (result.ok) env.reach('question shown');
  // After an unknown result the question may be in the chat. Mark the question as sent, so that an answer counts.
  if (result.ok || mayHaveArrived(result.failure))
    await turn.write('', [parking.markSent(asking.id, result.ok ? result.value.messageId : undefined, askedAtMs)]);
  return result.ok ? { kind: 'park', asking } : afterFailedSend(turn, question, result.failure);
}

function mayHaveArrived({ kind, isAnswered }: TelegramFailure): boolean {
  return kind === 'unknown' && !isAnswered;
}

/** Handles a failed send of the question or its file: retries later, or decides `untold` if a retry cannot help. */
async function afterFailedSend(turn: Turn<Env>, question: Question, failure: TelegramFailure): Promise<AttemptResult> {
  const { kind, retryAfterMs } = failure;
  if (kind === 'throttled') return waitThrottled(turn, failure);
  // The model goes on without a decision. The delivery of its answer will handle the same failure.
  if (kind === 'gone' || kind === 'rejected' || kind === 'migrated')
    return closeQuestion(turn, question, { how: 'untold' });
  const leftMs = question.park.untilMs - turn.nowMs();
  const waitedMs = turn.env.settings.APPROVAL_TIMEOUT_MS - leftMs;
  // If the question may already be in the chat, repeat the question at growing intervals.
  const restMs = mayHaveArrived(failure) ? Math.min(waitedMs / 2, leftMs) : 0;
  const delayMs = Math.max(LATER_MS_MIN, restMs, retryAfterMs ?? 0);
  return { kind: 'later', delayMs, reason: TELEGRAM_AWAY, isUncounted: true };
}

/**
 * Notifies the people whose messages wait behind an open question. Each person except the one who was asked gets one line per
 * question, with the name of the person who can decide. The text of a reminder is sent at once, and the model answers the
 * reminder later. A step is stored before each notice: if the process dies in between, the notice is lost, and the message is
 * still answered later.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
async function notifyBehindQuestion(turn: Turn<Env>, { id }: Asking, waiting: readonly Waiting[]): Promise<void> {
  const { telegram, selfEntered } = turn.env;
  if (!turn.message.ok) return;
  const { from: asker } = turn.message.value;
  for (const { entry, message, isMerged } of waiting) {
    const { content, from, messageId } = message;
    const handler = selfEntered.get(content.kind);
    if (handler) {
      if ((await turn.write(`said before its turn: ${entry}`, [])) === 'written')
        await telegram.sendMessage(turn.destination, handler.behindQuestion(message, turn.texts));
    } else if (!isMerged && from.id !== asker.id && isForModel(message)) {
      if ((await turn.write(`question ${id} named to ${from.id}`, [])) === 'written')
        await telegram.sendMessage(turn.destination, turn.texts.approval.behind(asker.name ?? ''), {
          replyTo: messageId,
        });
    }
  }
}

/**
 * Adds a job for a parked message if a press of a button or a new message arrived while the job that parked the turn still
 * existed, since no second job could be added then. Call this when that job has ended. Contract: rejects while Redis is down.
 */
export async function resumeParked({ lane, chatState }: Env, { entry, chat }: TurnJob): Promise<void> {
  const waiting = await chatState.findParking(entry, chatOf(chat));
  if (waiting && !waiting.parking.staysParked((await lane.depth(chat)) - 1)) await chatState.wake(waiting.head);
}

function parkFor(asking: Asking, untilMs: number): ParkedQuestion {
  const { id } = asking;
  if (asking.kind === 'question') return { id, untilMs, choices: asking.choices, calls: [] };
  const calls = asking.calls.map(({ id, name: tool, definition }) => ({ id, tool, definition }));
  const beyond = asking.beyond.map(({ id, name: tool }) => ({ id, tool, how: 'beyond' as const }));
  return { id, untilMs, choices: [], calls: [...calls, ...beyond] };
}

/** Closes a question with the next message. A plain text is the answer; any other message declines, and is answered next. */
function closeByText(turn: Turn<Env>, question: Question, next: Waiting): Promise<AttemptResult> {
  const { from, content, forwardedFrom } = next.message;
  const by = { id: from.id, name: from.name };
  return isPlainText(content) && forwardedFrom === undefined
    ? closeQuestion(turn, question, { how: 'written', by, text: content.text }, next.entry)
    : closeQuestion(turn, question, { how: 'declined', by });
}

async function closeQuestion(
  turn: Turn<Env>,
  { park }: Question,
  decision: Decision,
  answerEntry?: EntryId,
): Promise<AttemptResult> {
  const { env, parking } = turn;
  const { id } = park;
  const piece = answerEntry && turnOf(turn.keys, answerEntry);
  const result = await commit(turn, {
    step: '',
    changes: [
      ...parking.decide(id, { ...decision, ...callDecisions(park, decision.how) }, turn.nowMs()),
      ...(piece ? [piece.merge.mergeInto(turn.entry)] : []),
    ],
    expected: [
      ...parking.expectUndecided(id),
      parking.expectNewest(park),
      ...(piece ? [piece.expectNotCancelled()] : []),
    ],
    events: [{ event: 'question.decided', of: turn.entry, how: decision.how, by: decision.by?.id, tools: [] }],
  });
  // Best effort: if the buttons stay, a notice after a press says that the press came too late.
  const questionId = parking.messageIdOf(id);
  if (result !== 'unmet' && questionId !== undefined) await env.telegram.removeButtons(turn.destination, questionId);
  return DECIDED;
}

/** Whether the content is only text, so that the result of a tool can contain all of it. */
function isPlainText(content: InboundMessage['content']): content is { kind: 'text'; text: string } {
  return content.kind === 'text' && content.files === undefined && content.sound === undefined;
}

/** Whether the person who was asked has written this message after the question, as a member. False for a command. */
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
