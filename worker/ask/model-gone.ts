import { alertCommand } from '../../shared/flow/alert.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { modelGoneAlert } from '../alerts/messages.ts';
import { type Attempt, MODEL_GONE } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import type { Decision } from '../lane/verdict.ts';
import type { Failure } from '../model/errors/failure.ts';
import { DOUBTED } from './second-witness.ts';

/**
 * Sets a chat's own choice aside for a message when the endpoint does not know the chosen model: the usual one is asked,
 * and only its answer shows that the endpoint is well, and the chosen model gone. `undefined` for other failures, and
 * when the usual model is not known either.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function setChoiceAside(
  { modelName, models: [usual] }: Pick<Settings, 'modelName' | 'models'>,
  { keys, entry, write }: Attempt,
  { reason }: Failure,
): Promise<Decision | undefined> {
  if (reason !== 'not_found' || modelName === usual) return undefined;
  const turn = keys.turn(entry);
  await write('', [
    ['HSET', turn, MODEL_GONE, modelName, 'attempts', 0],
    ['HDEL', turn, DOUBTED],
  ]);
  return { kind: 'again' };
}

/**
 * Ends the choice of a model that is gone, now that the usual one has answered: in one write with the notice to the user
 * and the alert, and only if the chat has not chosen another one meanwhile. Returns the attempt as it continues.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function leaveGoneModel({ modelName }: Pick<Settings, 'modelName'>, attempt: Attempt): Promise<Attempt> {
  const { keys, chat, entry, texts, notices, write } = attempt;
  const gone = attempt.field(MODEL_GONE);
  const notice = gone === undefined ? '' : texts.modelGone(gone, modelName);
  if (gone === undefined || notices.includes(notice)) return attempt;
  const told = [...notices, notice];
  const chosen = chatState(keys, chat);
  const written = await write(
    'model gone',
    [
      chosen.leaveToDefault('model'),
      ['HSET', keys.turn(entry), 'notices', JSON.stringify(told)],
      alertCommand(keys, modelGoneAlert(attempt, gone, modelName)),
    ],
    [chosen.hasChosen('model', gone)],
  );
  return written === 'unmet' ? attempt : { ...attempt, notices: told };
}
