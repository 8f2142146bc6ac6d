import type { Observability } from '../../shared/base/observability.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import type { Settings } from '../lane/settings.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { Failure } from '../model/errors/failure.ts';

/**
 * Sets a chat's own choice aside for a message when the endpoint does not know the chosen model: the usual one is asked,
 * and only its answer shows that the endpoint is well, and the chosen model gone. `undefined` for other failures, and
 * when the usual model is not known either.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function setChoiceAside(
  { modelName, models: [usual] }: Pick<Settings, 'modelName' | 'models'>,
  { turn, write }: Attempt,
  { reason }: Failure,
): Promise<Verdict | undefined> {
  if (reason !== 'not_found' || modelName === usual) return undefined;
  await write('', turn.setModelAside(modelName));
  return { kind: 'again' };
}

interface GonePorts {
  settings: Pick<Settings, 'modelName'>;
  observability: Pick<Observability, 'telemetry' | 'reach'>;
}

/**
 * Ends the choice of a model that is gone, now that the usual one has answered: in one write with the notice to the user
 * and the alert, and only if the chat has not chosen another one meanwhile. Returns the attempt as it continues.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function leaveGoneModel(
  { settings: { modelName }, observability }: GonePorts,
  attempt: Attempt,
): Promise<Attempt> {
  const { keys, chat, texts, notices, turn } = attempt;
  const gone = turn.goneModel;
  const notice = gone === undefined ? '' : texts.modelGone(gone, modelName);
  if (gone === undefined || notices.includes(notice)) return attempt;
  const told = [...notices, notice];
  const written = await commit(observability, attempt, {
    step: 'model gone',
    changes: [chatState(keys, chat).leaveToDefault('model'), turn.notify(told)],
    expected: [chatState(keys, chat).hasChosen('model', gone)],
    events: [{ event: 'model.gone', gone, now: modelName }],
  });
  return written === 'unmet' ? attempt : { ...attempt, notices: told };
}
