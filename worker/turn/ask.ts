import { toolLabel } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { FencedError } from '../../shared/state/change.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Texts } from '../../shared/texts/language.ts';
import { askModel } from '../ask/conversation.ts';
import { pendingRecord } from '../ask/pending.ts';
import { Speech } from '../ask/words.ts';
import type { Env } from '../env.ts';
import { conclude, refused, type Verdict } from '../lane/verdict.ts';
import { unsupportedKind } from '../reply/notices.ts';
import type { UserRecord } from '../session/record.ts';
import { withWords } from './conclude.ts';
import type { TurnTime } from './deadline.ts';
import { handingOn, supersededBy } from './gather.ts';
import { isBurst, readContents } from './read.ts';

/** Hears and reads a message and its pieces, and asks the model. Each may end the attempt here. */
export async function answer(
  begun: Turn<Env>,
  messages: readonly [InboundMessage, ...InboundMessage[]],
  to: Destination,
  time: TurnTime,
): Promise<Verdict> {
  const { env } = begun;
  let turn = begun;
  const words = new Map<number, { label: string; text: string }>();
  for (const feature of env.features) {
    const spoken = await feature.spokenWords?.(turn, messages, time.signal);
    if (spoken === undefined) continue;
    if (spoken.kind !== 'spoken') return spoken;
    turn = spoken.turn;
    for (const [at, said] of spoken.words) words.set(at, said);
  }
  const [{ content }] = messages;
  if (messages.length === 1 && content.kind === 'unsupported' && words.size === 0)
    return conclude(refused('unsupported_kind', unsupportedKind(turn.texts, content.what)));
  const read = await readContents(turn, { messages, words }, time.signal);
  if (read.kind !== 'read') return read;
  // Each of several forwards says by itself where it is from.
  const { forwardedFrom: _, ...together } = messages[0];
  const message = isBurst(messages) ? together : messages[0];
  // A file, of this message or of the one that it answers, takes time to read; what comes behind words alone from now on
  // is found while the model is asked.
  const tookTime = typeof read.content !== 'string' || messages.some(({ content: { kind } }) => kind !== 'text');
  const into = turn.isAloneAtBegin && !tookTime ? undefined : await supersededBy(turn);
  if (into === undefined) return ask(turn, { message, content: read.content }, to, time);
  // The later one's turn finds it in the conversation.
  await env.sessions.open(turn, pendingRecord(turn, message, read.content), 0);
  return conclude({ outcome: 'merged', into, parts: [] }, { changes: handingOn(turn, into) });
}

/** Asks the model while the user sees what it writes. Contract: throws `FencedError`, or what Redis throws. */
async function ask(
  turn: Turn<Env>,
  { message, content }: { message: InboundMessage; content: UserRecord['content'] },
  to: Destination,
  time: TurnTime,
): Promise<Verdict> {
  const speech = new Speech(turn);
  const isJoining = async () => !time.isSeen() && (await supersededBy(turn, { isSeen: false })) !== undefined;
  const progress = turn.env.progress.begin(turn, message, to, async () => {
    if (await isJoining()) throw new FencedError();
    time.see();
    await speech.keep();
  });
  const onText = (text: string): void => progress.write(text);
  const onTools = (names: readonly string[]): void => {
    time.see();
    progress.doing(toolsInWords(turn.texts, names));
  };
  try {
    const decided = await askModel(turn, { message, content, speech, onText, onTools }, time);
    // Words that nobody has seen are no answer to a message that is answered together with a later one.
    if (decided.kind === 'later' || (decided.kind === 'hand back' && !(await isJoining()))) await speech.leave();
    return await withWords(turn, decided, speech.words);
  } catch (error) {
    // What can be kept is kept; the error decides what becomes of the attempt.
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
