import type { Attempt, RecoveryStage } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import type { Room } from '../model/room.ts';
import type { RecoverPorts } from '../recovery/effects.ts';
import { trialWon } from '../recovery/trial.ts';
import type { OpenedSession } from '../session/held-window.ts';
import { appendCommands } from '../session/store.ts';
import { withRecord } from '../tools/round.ts';
import { type Answered, costOf, endedTrial, isCalm, recordOf } from './answer.ts';
import type { Speech } from './words.ts';

/** A recorded round is progress: it resets the attempts and the bound on recoveries. */
export async function recordRound(
  ports: Pick<RecoverPorts, 'instruments' | 'settings'>,
  attempt: Attempt,
  opened: OpenedSession,
  { called, room, speech }: { called: Answered; room: Room; speech: Speech },
  round: number,
): Promise<OpenedSession> {
  const record = recordOf(attempt, called);
  const stage = stageAfterRound(attempt);
  const cost = costOf(attempt, called.answer, ports.settings.prices);
  const won = trialWon(attempt);
  const changes = [
    ...appendCommands(attempt.keys, attempt.session, [record]),
    ...cost.changes,
    ...attempt.turn.recordRound(round, { recoveries: attempt.recoveries, stage }),
    ...speech.record(called.answer.text),
    ...won.changes,
    ...(isCalm(called, room) ? [['HSET', attempt.keys.session(attempt.session), 'compactionsInRow', 0] as const] : []),
  ];
  await commit(ports.instruments, attempt, {
    step: `round:${round}`,
    changes,
    events: [...cost.events, ...won.events],
  });
  ports.instruments.reach('round stored');
  return withRecord(opened, record);
}

/** The attempt as it continues after a round: what was stored with the round, and what a failure now starts from. */
export function progressed(attempt: Attempt, rounds: number): Attempt {
  const stage = stageAfterRound(attempt);
  return {
    ...attempt,
    turn: attempt.turn.withoutOutage(),
    rounds,
    attempts: 1,
    silences: 0,
    recoveriesBefore: attempt.recoveries,
    stage,
    ...endedTrial(attempt),
  };
}

/** A compaction is done once a call goes through. What a fresh session was opened for does not come back. */
function stageAfterRound({ stage }: Attempt): RecoveryStage {
  return stage === 'compacted' ? 'none' : stage;
}
