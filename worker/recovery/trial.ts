import { alertCommand } from '../../shared/flow/alert.ts';
import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { historyRefusedAlert } from '../alerts/messages.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { LogRecord } from '../session/record.ts';
import { appendCommands, archivableCommand, newStamp } from '../session/store.ts';

/** The field of the turn that holds a session's trial. */
export const TRIAL = 'trial';

const REMOVED = '[A message that the model did not take was left out, with all that was said and done about it.]';

/** The commands that keep the session on trial: it was answered in, so the previous session was to blame. */
export function trialWon({ keys, entry, chat, traceparent, trial, notices, session }: Attempt): Change[] {
  if (trial === undefined) return [];
  const { of: from, entries, why } = trial;
  return [
    ['HSET', keys.turn(entry), 'notices', JSON.stringify([...notices, trial.notice])],
    ['HSET', keys.session(trial.of), 'closedBy', session],
    archivableCommand(keys, trial.of),
    ['HDEL', keys.turn(entry), TRIAL],
    alertCommand(keys, historyRefusedAlert({ chat, entry, traceparent, entries, from, to: session, why })),
  ];
}

/** The commands that move the chat back to its previous session: the fresh one did no better. */
export function trialLost({ keys, entry, chat, trial, session }: Attempt): Change[] {
  if (trial === undefined) return [];
  return [
    chatState(keys, chat).moveTo(trial.of),
    ['HSET', keys.session(trial.of), 'refusalsInRow', 0],
    ['HSET', keys.session(session), 'closedBy', trial.of],
    archivableCommand(keys, session),
    ['HDEL', keys.turn(entry), TRIAL],
  ];
}

/** The commands that remove a message, with its whole turn, from its conversation. */
export function removeTurn({ keys, entry, trial, session }: Attempt): Change[] {
  const removed: LogRecord = { v: 1, t: 'scrub', ...newStamp(), entry, turn: true, text: REMOVED };
  return appendCommands(keys, trial?.of ?? session, [removed]);
}
