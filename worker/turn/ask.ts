import { toolLabel } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { FencedError } from '../../shared/state/change.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Texts } from '../../shared/texts/language.ts';
import { askModel } from '../ask/conversation.ts';
import { pendingRecord } from '../ask/pending.ts';
import { Speech } from '../ask/words.ts';
import type { Env } from '../env.ts';
import { conclude, refused, type Verdict } from '../lane/verdict.ts';
import { unsupportedKind } from '../reply/notices.ts';
import type { UserRecord } from '../session/record.ts';
import { withPartialAnswer } from './conclude.ts';
import type { TurnTime } from './deadline.ts';
import { changesToReportIn, findLaterMessageToJoin } from './gather.ts';
import { isBurst, readContents } from './read.ts';

/** Transcribes and reads a message and its pieces, then asks the model. Each step may end the attempt. */
export async function answer(
  begun: Turn<Env>,
  messages: readonly [InboundMessage, ...InboundMessage[]],
  time: TurnTime,
): Promise<Verdict> {
  const { env } = begun;
  let turn = begun;
  const transcripts = new Map<number, { label: string; text: string }>();
  for (const feature of env.features) {
    const heard = await feature.transcribe?.(turn, messages, time.signal);
    if (heard === undefined) continue;
    if (heard.kind !== 'transcribed') return heard;
    turn = heard.turn;
    for (const [at, transcript] of heard.byPlace) transcripts.set(at, transcript);
  }
  const [{ content }] = messages;
  if (messages.length === 1 && content.kind === 'unsupported' && transcripts.size === 0)
    return conclude(refused('unsupported_kind', unsupportedKind(turn.texts, content.what)));
  const read = await readContents(turn, { messages, transcripts }, time.signal);
  if (read.kind !== 'read') return read;
  // Each of several forwards has a line that names its origin.
  const { forwardedFrom: _, ...together } = messages[0];
  const message = isBurst(messages) ? together : messages[0];
  // Look for a later message to join before paying for the model. Plain text that had nothing behind it needs no look: to
  // read it took no time, and `env.watch` looks again while the model answers.
  const tookTime = typeof read.content !== 'string' || messages.some(({ content: { kind } }) => kind !== 'text');
  const into = turn.isAloneAtBegin && !tookTime ? undefined : await findLaterMessageToJoin(turn);
  if (into === undefined) return ask(turn, { message, content: read.content }, time);
  // The turn of the later message finds this one in the conversation.
  await env.sessions.open(turn, pendingRecord(turn, message, read.content), 0);
  return conclude({ outcome: 'merged', into, parts: [] }, { changes: changesToReportIn(turn, into) });
}

/** Asks the model while the user sees what it writes. Contract: throws `FencedError`, or what Redis throws. */
async function ask(
  turn: Turn<Env>,
  { message, content }: { message: InboundMessage; content: UserRecord['content'] },
  time: TurnTime,
): Promise<Verdict> {
  const speech = new Speech(turn);
  const isJoining = async () =>
    !time.isAnswerVisible() && (await findLaterMessageToJoin(turn, { isAnswerVisible: false })) !== undefined;
  const progress = turn.env.progress.begin(turn, message, async () => {
    if (await isJoining()) throw new FencedError();
    time.markVisible();
    await speech.keep();
  });
  const onText = (text: string): void => progress.write(text);
  const onTools = (names: readonly string[]): void => {
    time.markVisible();
    progress.doing(toolsInWords(turn.texts, names));
  };
  try {
    const decided = await askModel(turn, { message, content, speech, onText, onTools }, time);
    // Store the partial answer, unless the message joins a later one and nobody has seen a word.
    if (decided.kind === 'later' || (decided.kind === 'hand back' && !(await isJoining()))) await speech.leave();
    return await withPartialAnswer(turn, decided, speech.partialAnswer);
  } catch (error) {
    // Best effort: the error is thrown in any case.
    await speech.leave().catch(() => undefined);
    throw error;
  } finally {
    // A draft sent after its reply would stand below it.
    await progress.end();
  }
}

/** The work of tools in plain words, each once. */
function toolsInWords({ usingTool, usingOwnTool }: Texts, names: readonly string[]): string {
  const own: Readonly<Record<string, string>> = usingOwnTool;
  return [...new Set(names.map((name) => own[name] ?? usingTool(toolLabel(name))))].join('\n');
}
