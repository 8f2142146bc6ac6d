import { sessionState } from '../../shared/state/session/session.ts';
import type { Attempt } from '../lane/attempt.ts';
import { type Settings, timeZoneOf } from '../lane/settings.ts';
import { conclude, type Ending, failed, refused } from '../lane/verdict.ts';
import type { Failure, FailureKind } from '../model/errors/failure.ts';
import { estimateContent } from '../model/estimate.ts';
import { startsTurn } from '../session/record.ts';
import { type FailedCall, isBlamed, type RecoverPorts, reportFailedStage } from './effects.ts';
import { removeTurn } from './fresh-session.ts';
import { isAnsweredWithError } from './policy.ts';
import type { Fail } from './state.ts';

/** The notice to the person when nothing more can be done for a message, by the kind of its last failure. */
const NOTICE_OF: Readonly<Partial<Record<FailureKind, 'notTaken' | 'declined' | 'endlessThought'>>> = {
  media: 'notTaken',
  poison: 'notTaken',
  unknown: 'notTaken',
  refusal: 'declined',
  output: 'endlessThought',
};

/** Nobody is asked to send a message of fewer tokens, before a trim, in smaller parts. */
const SHORT_TOKENS = 500;

/** Ends a message that cannot be answered; the chat stays usable. */
export function fail(ports: RecoverPorts, call: FailedCall, trouble: Fail['trouble']): Ending {
  const { attempt, failure } = call;
  const { reason, status = 'none' } = failure;
  switch (trouble) {
    case 'silence':
      return fallenSilent(attempt);
    case 'endpoint':
      return endpointFailed(attempt, failure);
    case 'account':
      return withRefusal(attempt, failed(reason, attempt.texts.misconfigured, `status ${status}`));
    case 'fixed parts':
      return fixedPartsRefused(attempt, failure);
    case 'message':
      reportFailedStage(ports, attempt.stage, reason);
      return withRefusal(attempt, gaveUp(call));
  }
}

/** No chat is to blame, so none is changed. The operator is notified once for all of them. */
function fixedPartsRefused({ texts }: Attempt, { reason, status }: Failure): Ending {
  const ending = conclude(
    { outcome: 'failed', reason, parts: [texts.misconfigured] },
    {
      events: [
        { event: 'fixed-parts.refused', why: reason, status },
        { event: 'context.gave-up', reason },
      ],
    },
  );
  return { ...ending, isInnocent: true };
}

/** Ends the message. If the message may be the cause, removes it from its conversation, or later requests would fail. */
function gaveUp({ attempt, failure, opened }: FailedCall): Ending {
  const { kind, reason } = failure;
  const message = opened.window.records.findLast(startsTurn);
  const isShort = message?.t === 'user' && estimateContent(message.content) < SHORT_TOKENS;
  const isGuilty = isBlamed(failure);
  const fault = kind === 'output' ? 'output' : isGuilty ? 'message' : 'size';
  return conclude(
    { outcome: 'failed', reason, parts: [attempt.texts[NOTICE_OF[kind] ?? (isShort ? 'notTaken' : 'gaveUp')]] },
    {
      // On trial, the end of the trial removes the message.
      changes: isGuilty && attempt.trial === undefined ? removeTurn(attempt) : [],
      events: [
        { event: 'message.gave-up', reason, fault },
        { event: 'context.gave-up', reason },
      ],
    },
  );
}

/** Counts the message among those in a row that ended refused: the next such message is tried without its history. */
function withRefusal({ keys, trial, session }: Attempt, ending: Ending): Ending {
  return { ...ending, changes: [...ending.changes, sessionState(keys, trial?.of ?? session).countRefusal()] };
}

/** An outage says nothing about the message; an error of the server that lasts may be about it. */
function endpointFailed(attempt: Attempt, failure: Failure): Ending {
  const ending = failed(failure.reason, attempt.texts.unavailable, 'the endpoint was in trouble for too long');
  return isAnsweredWithError(failure) ? withRefusal(attempt, ending) : ending;
}

/** Ends a message whose calls fell silent too often. */
export function fallenSilent({ texts }: Attempt): Ending {
  return failed('fell_silent', texts.unavailable, 'the model fell silent twice');
}

/** Refuses a message since a budget is used up; the person reads when the budget starts again. */
export function refuseOverBudget(
  attempt: Pick<Attempt, 'texts' | 'choice'>,
  settings: Pick<Settings, 'timeZone'>,
  { reason, budget }: Failure,
): Ending {
  const { whose, period, againMs } = budget ?? { whose: 'total', period: 'day', againMs: 0 };
  const again = { atMs: againMs, timeZone: timeZoneOf(attempt, settings) };
  return conclude(refused(reason, attempt.texts.budget.usedUp(whose, period, again)));
}
