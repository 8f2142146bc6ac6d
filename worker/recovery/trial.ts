import { alertCommand } from '../../shared/flow/alert.ts';
import type { Change } from '../../shared/state/change.ts';
import { historyRefusedAlert } from '../alerts/messages.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { LogRecord } from '../session/record.ts';
import { appendCommands, archivableCommand, newStamp } from '../session/store.ts';

const REMOVED = '[A message that the model did not take was left out, with all that was said and done about it.]';

/** The commands that keep the session on trial: it was answered in, so the previous session was to blame. */
export function trialWon({ keys, entry, chat, traceparent, trial, notices, session, turn }: Attempt): Change[] {
  if (trial === undefined) return [];
  const { of: from, entries, why } = trial;
  return [
    turn.notify([...notices, trial.notice]),
    ['HSET', keys.session(trial.of), 'closedBy', session],
    archivableCommand(keys, trial.of),
    turn.endTrial(),
    alertCommand(keys, historyRefusedAlert({ chat, entry, traceparent, entries, from, to: session, why })),
  ];
}

/** The commands that move the chat back to its previous session: the fresh one did no better. */
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

/** The commands that remove a message, with its whole turn, from its conversation. */
export function removeTurn({ keys, entry, trial, session }: Attempt): Change[] {
  const removed: LogRecord = { v: 1, t: 'scrub', ...newStamp(), entry, turn: true, text: REMOVED };
  return appendCommands(keys, trial?.of ?? session, [removed]);
}
