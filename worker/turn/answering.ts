import type { Waiting } from '../../shared/flow/fragments.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import { askModel } from '../ask/conversation.ts';
import { pendingRecord } from '../ask/open-session.ts';
import type { TurnTime } from '../ask/time.ts';
import { Speech } from '../ask/words.ts';
import type { Attempt } from '../lane/attempt.ts';
import { conclude, type Decision } from '../lane/verdict.ts';
import type { UserRecord } from '../session/record.ts';
import { isBurst, readContents } from './attachments.ts';
import { supersededBy } from './busy.ts';
import { insteadOfNothing } from './cut-answer.ts';
import { handingOn } from './set-for-later.ts';
import { hear } from './transcripts.ts';
import type { TurnPorts } from './turn.ts';

/** A message for the model, with its further pieces. */
export interface Asked {
  message: InboundMessage;
  pieces: readonly Waiting[];
}

/**
 * Asks the model about a message and its pieces, while people see its progress. A message that is answered together
 * with a later one is only recorded: the later one's turn finds it in the conversation.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function answer(
  ports: TurnPorts,
  begun: Attempt,
  { message, pieces }: Asked,
  to: Destination,
  time: TurnTime,
): Promise<Decision> {
  const { settings, store } = ports.ask;
  const messages = [message, ...pieces.map((piece) => piece.message)];
  const { telegram, transcriber } = ports;
  const hearing = await hear({ settings, telegram, transcriber }, begun, messages, time.signal);
  if (hearing.kind === 'decided') return hearing.decision;
  const { attempt, words } = hearing;
  const reading = await readContents({ settings, store, telegram }, attempt, { messages, words }, time.signal);
  if (reading.kind === 'decided') return reading.decision;
  const into = await supersededBy(ports, attempt);
  // Each of several forwards says by itself where it is from.
  const { forwardedFrom: _, ...together } = message;
  const asked = isBurst(messages) ? together : message;
  if (into !== undefined) {
    await store.sessions.open(attempt, pendingRecord(settings, attempt, asked, reading.content), 0);
    return conclude({ outcome: 'merged', into, parts: [] }, handingOn(attempt, into));
  }
  return askInSight(ports, attempt, { message: asked, content: reading.content }, to, time);
}

/** Asks the model while the user sees what it writes. */
async function askInSight(
  ports: TurnPorts,
  attempt: Attempt,
  { message, content }: { message: InboundMessage; content: UserRecord['content'] },
  to: Destination,
  time: TurnTime,
): Promise<Decision> {
  const speech = new Speech(attempt);
  const progress = ports.progress.begin(attempt, message, to, () => speech.keep());
  const onText = (text: string): void => progress.write(text);
  const onTools = (names: readonly string[]): void => progress.doing(toolsInWords(attempt.texts, names));
  try {
    const decided = await askModel(ports.ask, attempt, { message, content, speech, onText, onTools }, time);
    if (decided.kind === 'later' || decided.kind === 'hand back') await speech.leave();
    return await insteadOfNothing(ports.ask, attempt, decided, speech.words);
  } catch (error) {
    // What can be kept is kept; the error decides what becomes of the attempt.
    await speech.leave().catch(() => undefined);
    throw error;
  } finally {
    // A draft sent after its reply would stand below it.
    await progress.end();
  }
}

/** What tools do, in plain words, each once. */
function toolsInWords({ usingTool, usingOwnTool }: Texts, names: readonly string[]): string {
  const own: Readonly<Record<string, string>> = usingOwnTool;
  return [...new Set(names.map((name) => own[name] ?? usingTool(name.replaceAll(/[_-]+/g, ' '))))].join('\n');
}
