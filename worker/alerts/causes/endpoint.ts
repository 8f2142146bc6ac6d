import { counted, durationInWords } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Lifecycle, ProviderTrouble } from '../../../shared/state/provider/provider.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { dayOfRetirement } from '../../model/catalog.ts';
import { PROVIDER_SAID } from '../../model/errors/failure.ts';
import type { Condition, Rules } from './words.ts';

/** The end of several `todo` texts: the step to take once the endpoint accepts requests again. */
const REPLAY = 'then replay what failed: press “Replay failed”, or run "npm run cli -- dead replay --all --since 2h".';

/** Causes about the model endpoint and its models. */
export const ENDPOINT = {
  provider: {
    severity: 'page',
    title: 'Nobody gets an answer: the model endpoint fails',
    endsBy: 'watch',
    end: 'the model endpoint answers again.',
    acts: ['probe', 'replay'],
    levels: {
      overloaded: {
        title: 'Nobody gets an answer: the model endpoint is overloaded',
        todo: 'Nothing to do: messages wait, and are answered when the endpoint is back.',
      },
      network: {
        title: 'Nobody gets an answer: the model endpoint cannot be reached',
        todo: 'Check the network, the proxy and ANTHROPIC_BASE_URL. Messages wait meanwhile.',
      },
      auth: {
        title: 'Every message fails: the endpoint rejects the API key',
        todo: `Correct ANTHROPIC_API_KEY and restart; ${REPLAY}`,
      },
      billing: { title: 'Every message fails: the credit is used up', todo: `Add credit; ${REPLAY}` },
      model: {
        title: 'Every message fails: the endpoint does not offer the model',
        todo: `Correct MODEL, FALLBACK_MODEL or COMPACTION_MODEL, and restart; ${REPLAY}`,
      },
    } satisfies Record<ProviderTrouble, object>,
  },
  'fixed-parts': {
    severity: 'page',
    title: 'Every message fails: the endpoint rejects every request',
    todo: `Check the proxy, the system prompt and the tools; ${REPLAY}`,
    endsBy: 'alert',
    end: 'the endpoint accepts requests again.',
    acts: ['replay', 'pause-all'],
  },
  'model-retires': {
    severity: 'info',
    title: 'A model in use will be retired',
    todo: 'Set another model before that day, and restart.',
    endsBy: 'watch',
    end: 'the settings no longer name the model, or its retirement date has moved.',
    levels: {
      retired: { severity: 'attention', title: 'A model in use was retired', todo: 'Set another model and restart.' },
    },
  },
  'model-gone': {
    severity: 'attention',
    title: 'A model that users chose is gone',
    todo: 'Remove it from MODELS, so that nobody can choose it.',
    endsBy: 'quiet',
    end: 'nobody has asked for that model lately.',
  },
} satisfies Rules;

/** The condition that calls to the model endpoint fail; its level is the kind of failure. */
export function providerAlert(
  failing: { why: ProviderTrouble; status: string; failures: number; sinceMs: number },
  lastsMs: number,
  waiting: number,
): Condition {
  const { why, status, failures, sinceMs } = failing;
  const callsInWords = `${counted(failures, 'call')} failed in ${durationInWords(lastsMs)} and none went through`;
  return {
    cause: 'provider',
    text: `The model endpoint ${PROVIDER_SAID[why]}: ${callsInWords} (status ${status === '' ? 'none' : status}); waiting: ${counted(waiting, 'message')}.`,
    level: why,
    sinceMs,
  };
}

/** The alert that the endpoint refuses even a request without a conversation. All chats share one incident. */
export function fixedPartsAlert(turn: Turn, why: string, status: number | undefined): Alert {
  return {
    cause: 'fixed-parts',
    ...whereOf(turn),
    text: `The endpoint rejects every request (${why}, status ${status ?? 'none'}), even one without a conversation. The users were notified.`,
  };
}

/** The alert that ends the incident of `fixedPartsAlert`. */
export function fixedPartsTakenAlert(): Alert {
  return { cause: 'fixed-parts', isOver: true, text: 'Resolved: the endpoint accepts requests again.' };
}

/** The condition that a model in use has been or will be retired; one incident for each model and date. */
export function retirementCondition(model: string, settings: readonly string[], life: Lifecycle): Condition {
  const day = life.retiresAtMs === undefined ? undefined : dayOfRetirement(life.retiresAtMs);
  const about = { cause: 'model-retires' as const, key: day === undefined ? model : `${model} ${day}` };
  const subject = `The model ${model} (${settings.join(', ')})`;
  if (life.stage === 'retired') return { ...about, level: 'retired', text: `${subject} is retired. Calls to it fail.` };
  return { ...about, text: `${subject} will be retired on ${day}. After that, calls to it fail.` };
}

/** The alert that the endpoint no longer offers a model that chats had chosen; these chats continue with `newModel`. */
export function modelGoneAlert(turn: Turn, goneModel: string, newModel: string): Alert {
  return {
    cause: 'model-gone',
    key: goneModel,
    ...whereOf(turn),
    text: `The endpoint no longer offers the model ${goneModel}. The chats that had chosen it continue with ${newModel}; their users were notified.`,
  };
}
