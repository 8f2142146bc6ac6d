import { sessionState } from '../../shared/state/session/session.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { type TurnSettings, timeZoneOf } from '../lane/turn-settings.ts';
import { conclude, type Ending, failed, refused } from '../lane/verdict.ts';
import type { Failure, FailureKind } from '../model/errors/failure.ts';
import { estimateContent } from '../model/estimate.ts';
import { startsTurn } from '../session/record.ts';
import { type FailedCall, mayBeAtFault, reportFailedStage } from './effects.ts';
import { removeTurn } from './fresh-session.ts';
import { isAnsweredWithError } from './policy.ts';
import type { Fail } from './state.ts';

/** The notice that a message is given up, by the kind of the last failure. For kinds not listed, the message's size decides. */
const NOTICE_OF: Readonly<Partial<Record<FailureKind, 'notTaken' | 'declined' | 'endlessThought'>>> = {
  media: 'notTaken',
  poison: 'notTaken',
  unknown: 'notTaken',
  refusal: 'declined',
  output: 'endlessThought',
};

/** No notice suggests splitting a message that had fewer estimated tokens than this before any trim. */
const SHORT_TOKENS = 500;

/** Ends a message that cannot be answered, with the notice and the effects that suit the trouble. */
export function fail(call: FailedCall, trouble: Fail['trouble']): Ending {
  const { turn, failure } = call;
  const { reason, status = 'none' } = failure;
  switch (trouble) {
    case 'silence':
      return failAfterSilence(turn);
    case 'endpoint':
      return failForEndpoint(turn, failure);
    case 'account':
      return countRefusal(turn, failed(reason, turn.texts.misconfigured, `status ${status}`));
    case 'fixed parts':
      return failForFixedParts(turn, failure);
    case 'message':
      reportFailedStage(call.turn.env, turn.stage, reason);
      return countRefusal(turn, giveUp(call));
  }
}

/** Ends a message after a refusal of the fixed parts. The conversation is not the cause and stays unchanged. */
function failForFixedParts({ texts }: Turn, { reason, status }: Failure): Ending {
  const ending = conclude(
    { outcome: 'failed', reason, parts: [texts.misconfigured] },
    {
      events: [
        { event: 'fixed-parts.refused', why: reason, status },
        { event: 'context.gave-up', reason },
      ],
    },
  );
  return { ...ending, keepsInConversation: true };
}

/** Ends a message. If the message may be the cause, hides it in its conversation, so that later requests do not fail, too. */
function giveUp({ turn, failure, loadedSession }: FailedCall): Ending {
  const { kind, reason } = failure;
  const message = loadedSession.window.records.findLast(startsTurn);
  const isShort = message?.t === 'user' && estimateContent(message.content) < SHORT_TOKENS;
  const isAtFault = mayBeAtFault(failure);
  const fault = kind === 'output' ? 'output' : isAtFault ? 'message' : 'size';
  return conclude(
    { outcome: 'failed', reason, parts: [turn.texts[NOTICE_OF[kind] ?? (isShort ? 'notTaken' : 'gaveUp')]] },
    {
      // If the message is on trial, the end of the trial hides the message.
      changes: isAtFault && turn.trial === undefined ? removeTurn(turn) : [],
      events: [
        { event: 'message.gave-up', reason, fault },
        { event: 'context.gave-up', reason },
      ],
    },
  );
}

/** Counts the message as refused. If the next message is refused, too, a fresh session without quotations may answer it. */
function countRefusal({ keys, trial, session }: Turn, ending: Ending): Ending {
  return { ...ending, changes: [...ending.changes, sessionState(keys, trial?.of ?? session).countRefusal()] };
}

/** Ends a message after the endpoint failed for too long. A message that may have caused the error counts as refused. */
function failForEndpoint(turn: Turn, failure: Failure): Ending {
  const ending = failed(failure.reason, turn.texts.unavailable, 'the endpoint was in trouble for too long');
  return isAnsweredWithError(failure) ? countRefusal(turn, ending) : ending;
}

/** Ends a message whose calls fell silent too often. */
export function failAfterSilence({ texts }: Turn): Ending {
  return failed('fell_silent', texts.unavailable, 'the model fell silent twice');
}

/** Refuses a message because a budget is used up. The notice says when the budget resets. */
export function refuseOverBudget(
  turn: Pick<Turn, 'texts' | 'choice'>,
  settings: Pick<TurnSettings, 'TZ'>,
  { reason, budget }: Failure,
): Ending {
  const { whose, period, againMs } = budget ?? { whose: 'total', period: 'day', againMs: 0 };
  const again = { atMs: againMs, timeZone: timeZoneOf(turn, settings) };
  return conclude(refused(reason, turn.texts.budget.usedUp(whose, period, again)));
}
