import { sessionState } from '../../shared/state/session/session.ts';
import { LOAD_BYTES_PER_TOKEN } from '../ask/pending.ts';
import type { Room } from '../model/count.ts';
import { type CompactionOutcome, compactSession } from '../recovery/compact.ts';
import { type CommandContext, type CommandHandler, replied } from './command.ts';
import { roomIn } from './status.ts';

const STEP = 'compact';
/** The reasons that mean that there was nothing to compact, not that a compaction failed. */
const NOTHING: ReadonlySet<string> = new Set(['nothing_to_compact', 'did_not_shrink']);

/** `/compact`: summarises older messages now. If the process dies after the compaction, the next attempt only replies. */
export const compact: CommandHandler = async (context) => {
  const { turn, time } = context;
  const { texts, session } = turn;
  const room = await roomIn(turn);
  const outcome = turn.hasDone(STEP) ? { ok: true as const } : await summarise(context, room);
  if (!outcome.ok && time.signal.aborted) return { kind: 'hand back' };
  if (!outcome.ok) return replied('compact', NOTHING.has(outcome.reason) ? texts.nothingToCompact : texts.notCompacted);
  const { tokens } = await context.turn.env.chatState.session(session);
  return replied('compact', texts.compactedNow(Math.round((tokens / room.limitTokens) * 100)));
};

function summarise({ turn, time }: CommandContext, room: Room): Promise<CompactionOutcome> {
  const { env } = turn;
  // The reply to the command reports the compaction, so the next answer need not.
  const effects = [sessionState(turn.keys, turn.session).reportCompactions()];
  return time.runRecovery(env.settings.RECOVERY_TIMEOUT_MS, async (signal) => {
    const loadedSession = await env.sessions.load(turn, room.limitTokens * LOAD_BYTES_PER_TOKEN);
    return compactSession({ turn, loadedSession, room, step: STEP, effects, isPersonWaiting: true }, signal);
  });
}
