import type { Change } from '../../shared/state/change.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { TurnEvent } from '../lane/events.ts';
import type { LogRecord } from '../session/record.ts';
import { appendCommands, archivableCommand, newStamp } from '../session/store.ts';

const REMOVED = '[A message that the model did not take was left out, with all that was said and done about it.]';

/** Keeps the session on trial: it was answered in, so the previous session was to blame. */
export function trialWon({ keys, trial, notices, session, turn }: Attempt): { changes: Change[]; events: TurnEvent[] } {
  if (trial === undefined) return { changes: [], events: [] };
  const { of: from, entries, why } = trial;
  return {
    changes: [
      turn.notify([...notices, trial.notice]),
      ['HSET', keys.session(from), 'closedBy', session],
      archivableCommand(keys, from),
      turn.endTrial(),
    ],
    events: [{ event: 'history.refused', from, to: session, entries, why }],
  };
}

/** Moves the chat back to its previous session: the fresh one did no better. */
export function trialLost({ keys, chat, trial, session, turn }: Attempt): Change[] {
  if (trial === undefined) return [];
  return [
    ['HSET', keys.chat(chat), 'session', trial.of],
    ['HSET', keys.session(trial.of), 'refusalsInRow', 0],
    ['HSET', keys.session(session), 'closedBy', trial.of],
    archivableCommand(keys, session),
    turn.endTrial(),
  ];
}

/** Removes a message, with its whole turn, from its conversation. */
export function removeTurn({ keys, entry, trial, session }: Attempt): Change[] {
  const removed: LogRecord = { v: 1, t: 'scrub', ...newStamp(), entry, turn: true, text: REMOVED };
  return appendCommands(keys, trial?.of ?? session, [removed]);
}
