import { alertCommand } from '../../shared/flow/alert.ts';
import { modelGoneAlert } from '../alerts/messages.ts';
import { type Attempt, MODEL, MODEL_ASKED_AGAIN, MODEL_GONE } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import type { Decision } from '../lane/verdict.ts';
import type { Failure } from '../model/errors/failure.ts';

/** A proxy that restarts is back by then, and a user hardly notices. */
const ASK_AGAIN_MS = 2_000;

/**
 * What to do when the endpoint does not know the model. Once may be a mistake, so the same request is sent again. After
 * that a chat's own choice is set aside for this message, and the usual model is asked: only its answer shows that the
 * endpoint is well, and the chosen model gone. `undefined` for other failures, and when the usual model is not known
 * either.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function whenModelUnknown(
  { modelName, models: [usual] }: Pick<Settings, 'modelName' | 'models'>,
  { keys, entry, field, write }: Attempt,
  { reason }: Failure,
): Promise<Decision | undefined> {
  const isChosen = modelName !== usual;
  if (reason !== 'not_found') return undefined;
  const turn = keys.turn(entry);
  if (field(MODEL_ASKED_AGAIN) !== modelName) {
    await write('', [['HSET', turn, MODEL_ASKED_AGAIN, modelName]]);
    return { kind: 'later', delayMs: ASK_AGAIN_MS, reason, isFree: true };
  }
  if (!isChosen) return undefined;
  await write('', [['HSET', turn, MODEL_GONE, modelName, 'attempts', 0]]);
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
  const written = await write(
    'model gone',
    [
      ['HDEL', keys.chat(chat), MODEL],
      ['HSET', keys.turn(entry), 'notices', JSON.stringify(told)],
      alertCommand(keys, modelGoneAlert(attempt, gone, modelName)),
    ],
    [[keys.chat(chat), MODEL, gone]],
  );
  return written === 'unmet' ? attempt : { ...attempt, notices: told };
}
