import { traceIdOf } from '../../../shared/base/telemetry.ts';
import { counted, inSeconds } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Attempt } from '../../lane/attempt.ts';
import { dayOfRetirement, type Lifecycle } from '../../model/catalog.ts';
import { PROVIDER_SAID, type ProviderTrouble } from '../../model/errors/failure.ts';
import type { LevelRule, Rules } from '../causes.ts';
import type { Condition } from '../incident.ts';

const EVERY_MESSAGE = { isOwn: true, acts: ['probe', 'replay'] } as const satisfies LevelRule;

/** Causes that concern the model endpoint, and the models that it knows. */
export const ENDPOINT = {
  provider: {
    severity: 'page',
    levels: { auth: EVERY_MESSAGE, billing: EVERY_MESSAGE, model: EVERY_MESSAGE } satisfies Partial<
      Record<ProviderTrouble, LevelRule>
    >,
    endsBy: 'watch',
    acts: ['probe'],
  },
  'fixed-parts': {
    severity: 'page',
    endsBy: 'alert',
    acts: ['replay', 'pause-all'],
  },
  'model-retires': {
    severity: 'info',
    endsBy: 'watch',
    isAhead: true,
  },
  'model-gone': {
    severity: 'attention',
    endsBy: 'quiet',
  },
} satisfies Rules;

/** A model endpoint that does not answer; the level says how it fails. */
export function providerAlert(
  failing: { why: ProviderTrouble; status: string; failures: number; sinceMs: number },
  lastsMs: number,
  waiting: number,
): Condition {
  const { why, status, failures, sinceMs } = failing;
  const seen = `${counted(failures, 'call')} failed in ${inSeconds(lastsMs)} and none went through`;
  return {
    cause: 'provider',
    text: `The model endpoint ${PROVIDER_SAID[why]}: ${seen} (status ${status === '' ? 'none' : status}); waiting: ${counted(waiting, 'message')}.`,
    level: why,
    sinceMs,
  };
}

/** What every request holds is refused: no chat is to blame. Notified once for all chats. */
export function fixedPartsAlert(attempt: Attempt, why: string, status: number | undefined): Alert {
  return {
    cause: 'fixed-parts',
    ...whereOf(attempt),
    text: `The endpoint refuses every request (${why}, status ${status ?? 'none'}), even without any conversation: messages fail, and their users are notified. Check the system prompt, the tools and the proxy in front of the model. No session was touched. First seen: chat ${attempt.chat}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** The end of the above. */
export function fixedPartsTakenAlert(): Alert {
  const text =
    'Resolved: the endpoint takes requests again. “Replay failed” sends the messages that failed, or "npm run cli -- dead replay --all --since 2h".';
  return { cause: 'fixed-parts', isOver: true, text };
}

/** The level at which a model is retired, and no longer only to be. */
export const RETIRED = 'retired';

/** A model in use that its provider retires, or has retired; one incident for each model and date. */
export function retirementCondition(model: string, settings: readonly string[], life: Lifecycle): Condition {
  const day = life.retiresAtMs === undefined ? undefined : dayOfRetirement(life.retiresAtMs);
  const about = { cause: 'model-retires' as const, key: day === undefined ? model : `${model} ${day}` };
  const named = `The model ${model} (${settings.join(', ')})`;
  if (life.stage === 'retired') return { ...about, level: RETIRED, text: `${named} is retired: calls of it fail.` };
  return { ...about, text: `${named} is to be retired; the day that is announced is ${day}. Then calls of it fail.` };
}

/** A model that chats chose, and that the endpoint does not know although it answers by another one. */
export function modelGoneAlert(attempt: Attempt, gone: string, now: string): Alert {
  return {
    cause: 'model-gone',
    key: gone,
    ...whereOf(attempt),
    text: `The endpoint does not know the model ${gone} any more, which chat ${attempt.chat} had chosen. The chat goes on with ${now}, and its user was told. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}
