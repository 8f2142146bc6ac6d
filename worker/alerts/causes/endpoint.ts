import { counted, inSeconds } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Lifecycle, ProviderTrouble } from '../../../shared/state/provider/provider.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { dayOfRetirement } from '../../model/catalog.ts';
import { PROVIDER_SAID } from '../../model/errors/failure.ts';
import type { Condition, Rules } from './words.ts';

/** The last step of several todos, once the endpoint accepts requests again. */
const REPLAY = 'then press “Replay failed”, or run "npm run cli -- dead replay --all --since 2h".';

/** Causes about the model endpoint and its models. */
export const ENDPOINT = {
  provider: {
    severity: 'page',
    title: 'The model endpoint does not answer',
    endsBy: 'watch',
    end: 'the model endpoint answers again.',
    acts: ['probe', 'replay'],
    levels: {
      overloaded: {
        title: 'The model endpoint is overloaded',
        todo: 'Nothing: messages wait, and are answered when it is back.',
      },
      network: {
        title: 'The model endpoint cannot be reached',
        todo: 'Check ANTHROPIC_BASE_URL, the network and the proxy. Messages wait meanwhile.',
      },
      auth: {
        title: 'Every message fails: the API key is refused',
        todo: `Correct ANTHROPIC_API_KEY and restart; ${REPLAY}`,
      },
      billing: { title: 'Every message fails: the credit is used up', todo: `Add credit; ${REPLAY}` },
      model: {
        title: 'Every message fails: the model is not known',
        todo: `Correct MODEL, FALLBACK_MODEL and COMPACTION_MODEL, and restart; ${REPLAY}`,
      },
    } satisfies Record<ProviderTrouble, object>,
  },
  'fixed-parts': {
    severity: 'page',
    title: 'Every message fails: the endpoint refuses every request',
    todo: `Check the system prompt, the tools and the proxy; ${REPLAY}`,
    endsBy: 'alert',
    end: 'the endpoint takes requests again.',
    acts: ['replay', 'pause-all'],
  },
  'model-retires': {
    severity: 'info',
    title: 'A model is to be retired',
    todo: 'Name another model in the setting.',
    endsBy: 'watch',
    end: 'no setting names the model any more, or its date has moved.',
  },
  'model-gone': {
    severity: 'attention',
    title: 'A model that chats chose is gone',
    todo: 'Take it out of MODELS, so that nobody chooses it again.',
    endsBy: 'quiet',
    end: 'no more chats find their model gone.',
  },
} satisfies Rules;

/** The condition that the model endpoint does not answer; its level is the kind of failure. */
export function providerAlert(
  failing: { why: ProviderTrouble; status: string; failures: number; sinceMs: number },
  lastsMs: number,
  waiting: number,
): Condition {
  const { why, status, failures, sinceMs } = failing;
  const callsInWords = `${counted(failures, 'call')} failed in ${inSeconds(lastsMs)} and none went through`;
  return {
    cause: 'provider',
    text: `The model endpoint ${PROVIDER_SAID[why]}: ${callsInWords} (status ${status === '' ? 'none' : status}); waiting: ${counted(waiting, 'message')}.`,
    level: why,
    sinceMs,
  };
}

/** The alert that the endpoint refuses even a request without a conversation. One incident for all chats. */
export function fixedPartsAlert(turn: Turn, why: string, status: number | undefined): Alert {
  return {
    cause: 'fixed-parts',
    ...whereOf(turn),
    text: `The endpoint refuses every request (${why}, status ${status ?? 'none'}), even without any conversation: messages fail, and their users are notified.`,
  };
}

/** The alert that ends the incident of `fixedPartsAlert`. */
export function fixedPartsTakenAlert(): Alert {
  return { cause: 'fixed-parts', isOver: true, text: 'Resolved: the endpoint takes requests again.' };
}

/** The level of a model whose retirement has happened. */
const RETIRED = 'retired';

/** The condition that the provider retires, or has retired, a model in use; one incident for each model and date. */
export function retirementCondition(model: string, settings: readonly string[], life: Lifecycle): Condition {
  const day = life.retiresAtMs === undefined ? undefined : dayOfRetirement(life.retiresAtMs);
  const about = { cause: 'model-retires' as const, key: day === undefined ? model : `${model} ${day}` };
  const subject = `The model ${model} (${settings.join(', ')})`;
  if (life.stage === 'retired') return { ...about, level: RETIRED, text: `${subject} is retired: calls of it fail.` };
  return { ...about, text: `${subject} is to be retired; the day that is announced is ${day}. Then calls of it fail.` };
}

/** The alert that the endpoint no longer knows a model that chats chose, although it answers with another model. */
export function modelGoneAlert(turn: Turn, goneModel: string, newModel: string): Alert {
  return {
    cause: 'model-gone',
    key: goneModel,
    ...whereOf(turn),
    text: `The endpoint does not know the model ${goneModel} any more. The chats that had chosen it go on with ${newModel}, and their users were notified.`,
  };
}
