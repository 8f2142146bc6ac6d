import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import { askModel } from '../ask/conversation.ts';
import type { TurnTime } from '../ask/time.ts';
import { Speech } from '../ask/words.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { UserRecord } from '../session/record.ts';
import { insteadOfNothing } from './conclude.ts';
import type { TurnPorts } from './turn.ts';

/** Asks the model while the user sees what it writes. Contract: throws `FencedError`, or what Redis throws. */
export async function ask(
  ports: TurnPorts,
  attempt: Attempt,
  { message, content }: { message: InboundMessage; content: UserRecord['content'] },
  to: Destination,
  time: TurnTime,
): Promise<Verdict> {
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
