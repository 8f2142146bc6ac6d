import { toolLabel } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { FencedError } from '../../shared/state/change.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Texts } from '../../shared/texts/language.ts';
import { askModel, type Question } from '../ask/conversation.ts';
import { pendingRecord } from '../ask/pending.ts';
import { Speech } from '../ask/words.ts';
import type { Env } from '../env.ts';
import { conclude, refused, type Verdict } from '../lane/verdict.ts';
import { unsupportedKind } from '../reply/notices.ts';
import { withPartialAnswer } from './conclude.ts';
import type { TurnTime } from './deadline.ts';
import { changesToReportIn, findLaterMessageToJoin } from './gather.ts';
import { isBurst, readContents } from './read.ts';

/**
 * Transcribes and reads a message and the messages merged into it, then asks the model. If a later message is to be answered
 * together with this one, merges this one into that message instead. Each step may end the attempt.
 */
export async function answer(
  initialTurn: Turn<Env>,
  messages: readonly [InboundMessage, ...InboundMessage[]],
  time: TurnTime,
): Promise<Verdict> {
  let turn = initialTurn;
  const transcripts = new Map<number, { label: string; text: string }>();
  for (const feature of initialTurn.env.features) {
    const result = await feature.transcribe?.(turn, messages, time.signal);
    if (result === undefined) continue;
    if (result.kind !== 'transcribed') return result;
    turn = result.turn;
    for (const [at, transcript] of result.byIndex) transcripts.set(at, transcript);
  }
  const [{ content }] = messages;
  if (messages.length === 1 && content.kind === 'unsupported' && transcripts.size === 0)
    return conclude(refused('unsupported_kind', unsupportedKind(turn.texts, content.what)));
  const read = await readContents(turn, { messages, transcripts }, time.signal);
  if (read.kind !== 'read') return read;
  // A line before each forward of a burst names its origin, so the message itself needs no origin.
  const { forwardedFrom: _, ...withoutOrigin } = messages[0];
  const message = isBurst(messages) ? withoutOrigin : messages[0];
  const pending = pendingRecord(turn, message, read.content);
  // Before paying for the model, look for a later message to answer together with this one. A plain text that was alone in its
  // lane needs no such look: reading the text took no time, and `env.watch` looks again while the model answers.
  const wasSlowToRead = typeof read.content !== 'string' || messages.some(({ content: { kind } }) => kind !== 'text');
  const laterEntry = turn.isAloneAtBegin && !wasSlowToRead ? undefined : await findLaterMessageToJoin(turn);
  if (laterEntry === undefined) return ask(turn, { message, pending }, time);
  // Record this message in the session, so that the turn of the later message has it in the conversation.
  await turn.env.sessions.open(turn, pending, 0);
  return conclude({ outcome: 'merged', into: laterEntry, parts: [] }, { changes: changesToReportIn(turn, laterEntry) });
}

/** Asks the model, and shows the user the progress of the answer. Contract: throws `FencedError`, or what Redis throws. */
export async function ask(
  turn: Turn<Env>,
  { message, pending }: Pick<Question, 'message' | 'pending'>,
  time: TurnTime,
): Promise<Verdict> {
  const speech = new Speech(turn);
  const isJoining = async () =>
    !time.isAnswerVisible() && (await findLaterMessageToJoin(turn, { isAnswerVisible: false })) !== undefined;
  const progress = turn.env.progress.begin(turn, message, async () => {
    if (await isJoining()) throw new FencedError();
    time.markVisible();
    await speech.store();
  });
  const onText = (text: string): void => progress.write(text);
  const onTools = (names: readonly string[]): void => {
    time.markVisible();
    progress.doing(toolsInWords(turn.texts, names));
  };
  try {
    const verdict = await askModel(turn, { message, pending, speech, onText, onTools }, time);
    // Store the partial answer, unless this message joins a later one before the user has seen any of the answer.
    if (verdict.kind === 'later' || (verdict.kind === 'hand back' && !(await isJoining()))) await speech.storeAtEnd();
    return await withPartialAnswer(turn, verdict, speech.partialAnswer);
  } catch (error) {
    // Best effort: the original error matters more.
    await speech.storeAtEnd().catch(() => undefined);
    throw error;
  } finally {
    // End the display of progress first, because a draft sent after the reply would appear below the reply.
    await progress.end();
  }
}

/** Describes the work of these tools in the user's language, one line for each kind of work. */
function toolsInWords({ usingTool, usingOwnTool }: Texts, names: readonly string[]): string {
  const builtInTexts: Readonly<Record<string, string>> = usingOwnTool;
  return [...new Set(names.map((name) => builtInTexts[name] ?? usingTool(toolLabel(name))))].join('\n');
}
