import { sessionMemory } from '../../shared/state/session/session.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';

/** The system prompt, followed by the session's fixed text (the chat's memory) if this turn shows it. Pure. */
export function systemOf(turn: Turn<Env>): string {
  const { env, memory = '' } = turn;
  const { settings, fixedText } = env;
  if (memory === '' || !fixedText?.isShown(turn)) return settings.systemPrompt;
  return `${settings.systemPrompt}\n\n${fixedText.frame}\n\n${memory}`;
}

/**
 * The turn with its session's fixed text, if a feature provides one. If the session has none, stores the text, so that requests
 * repeat the text until a compaction or `/memory` renews it. Contract: throws `FencedError`, or what Redis throws.
 */
export async function withFixedText(turn: Turn<Env>, windowTokens: number): Promise<Turn<Env>> {
  const { fixedText } = turn.env;
  if (turn.memory !== undefined || fixedText === undefined) return turn;
  for (;;) {
    const { text, unchanged } = await fixedText.of(turn, windowTokens);
    const changes = [sessionMemory(turn.keys, turn.session).fix(text)];
    // Repeat if a person has changed the text between the read and the write.
    if ((await turn.write('', changes, [unchanged])) !== 'unmet') return turn.with({ memory: text });
  }
}
