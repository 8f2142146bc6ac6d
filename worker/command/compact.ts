import { sessionState } from '../../shared/state/session/session.ts';
import { LOAD_BYTES_PER_TOKEN } from '../ask/pending.ts';
import type { Room } from '../model/count.ts';
import { compactSession, type Uncompacted } from '../recovery/session-compaction.ts';
import { type CommandContext, type CommandHandler, type CommandPorts, replied } from './command.ts';
import { roomIn } from './status.ts';

const STEP = 'compact';
/** There was nothing to do, and nothing failed. */
const NOTHING: ReadonlySet<string> = new Set(['nothing_to_compact', 'did_not_shrink']);

/** `/compact`: older messages become a summary now. A crash after that repeats only the reply. */
export const compact: CommandHandler = async (ports, context) => {
  const { attempt, time } = context;
  const { texts, session } = attempt;
  const room = await roomIn(ports.ask, attempt);
  const isDone = attempt.turn.hasDone(STEP);
  const failed = isDone ? undefined : await summarise(ports, context, room);
  if (failed !== undefined && time.signal.aborted) return { kind: 'hand back' };
  if (failed !== undefined)
    return replied('compact', NOTHING.has(failed.reason) ? texts.nothingToCompact : texts.notCompacted);
  const { tokens } = await ports.state.session(session);
  return replied('compact', texts.compactedNow(Math.round((tokens / room.limitTokens) * 100)));
};

function summarise(
  { ask }: CommandPorts,
  { attempt, time }: CommandContext,
  room: Room,
): Promise<Uncompacted | undefined> {
  const { settings } = ask;
  const state = sessionState(attempt.keys, attempt.session);
  // A person asked for it: it is no sign that the session refills at once, and the reply is all that is said of it.
  const effects = [state.setCompactionsInRow(attempt.compactionsInRow), state.reportCompactions()];
  return time.recovering(settings.recoveryTimeoutMs, async (signal) => {
    const opened = await ask.store.sessions.load(attempt, room.limitTokens * LOAD_BYTES_PER_TOKEN);
    return compactSession(
      ask,
      { attempt, opened, room, step: STEP, effects, patienceMs: settings.summaryPatienceMs },
      signal,
    );
  });
}
