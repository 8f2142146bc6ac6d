import { sessionState } from '../../shared/state/session/session.ts';
import type { FailureKind } from '../model/errors/failure.ts';
import { type Overflow, type RecoverPorts, type Recovery, reportFailedStage } from './effects.ts';
import { asksForBlame } from './policy.ts';
import { removeTurn } from './stage-2.ts';

/** What the notice to the user says, by the final failure. */
const NOTICE_OF: Readonly<Partial<Record<FailureKind, 'notTaken' | 'declined' | 'endlessThought'>>> = {
  media: 'notTaken',
  poison: 'notTaken',
  unknown: 'notTaken',
  refusal: 'declined',
  output: 'endlessThought',
};

/**
 * Nothing more can be done for this message; the chat itself stays usable. A message that is to blame is removed from
 * its conversation, or every later message would fail with it.
 */
export function giveUp(ports: RecoverPorts, { attempt, failure }: Overflow): Recovery {
  reportFailedStage(ports, attempt.stage, failure.reason);
  const isGuilty = asksForBlame(failure);
  const fault = failure.kind === 'output' ? 'output' : isGuilty ? 'message' : 'size';
  return {
    kind: 'conclude',
    conclusion: {
      outcome: 'failed',
      reason: failure.reason,
      parts: [attempt.texts[NOTICE_OF[failure.kind] ?? 'gaveUp']],
    },
    // During a trial, the move back removes the message, however it ended.
    changes: isGuilty && attempt.trial === undefined ? removeTurn(attempt) : [],
    events: [
      { event: 'message.gave-up', reason: failure.reason, fault },
      { event: 'context.gave-up', reason: failure.reason },
    ],
  };
}

/**
 * The model declined: the whole turn is removed, calls and results included, since each of them would be declined
 * again.
 */
export function refuseTurn({ attempt, failure }: Overflow): Recovery {
  return {
    kind: 'conclude',
    conclusion: { outcome: 'failed', reason: failure.reason, parts: [attempt.texts.declined] },
    changes: [...removeTurn(attempt), sessionState(attempt.keys, attempt.session).countRefusal()],
    events: [{ event: 'message.failed', reason: failure.reason, detail: 'the model declined the message' }],
  };
}
