import { chatState } from '../../shared/state/chat/chat.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { FailedCall } from './effects.ts';

/**
 * Has the chat's default model answer the message, where the endpoint does not let the chat use the model that it chose.
 * Only the default model's answer shows that the endpoint is well, and ends the choice: see `endModelChoice`.
 */
export async function useDefaultModel({ turn }: FailedCall): Promise<Verdict> {
  const { settings } = turn.env;
  await turn.write('', turn.dropChosenModel(settings.MODEL));
  return { kind: 'again' };
}

/**
 * Ends a chat's choice of a model that it cannot use, now that the default model has answered: in one write with the
 * notice to the user and the alert, and only if the chat has not chosen another model meanwhile. Returns the attempt as it
 * continues.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function endModelChoice(turn: Turn<Env>): Promise<Turn<Env>> {
  const { env, keys, chat, texts, notices } = turn;
  const gone = turn.goneModel;
  const notice = gone === undefined ? '' : texts.modelGone(gone, env.settings.MODEL);
  if (gone === undefined || notices.includes(notice)) return turn;
  const withNotice = [...notices, notice];
  const written = await commit(turn, {
    step: 'model gone',
    changes: [chatState(keys, chat).resetChoice('model'), turn.notify(withNotice)],
    expected: [chatState(keys, chat).expectChoice('model', gone)],
    events: [{ event: 'model.gone', gone, now: env.settings.MODEL }],
  });
  return written === 'unmet' ? turn : turn.with({ notices: withNotice });
}
