import { chatState } from '../../shared/state/chat/chat.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { FailedCall } from './effects.ts';

/**
 * Lets the chat's default model answer the message, because the model that the chat chose cannot be used. The chat's choice
 * ends only once the default model has answered, which proves that the endpoint works (`endModelChoice`).
 */
export async function useDefaultModel({ turn }: FailedCall): Promise<Verdict> {
  await turn.write('', turn.dropChosenModel(turn.env.settings.MODEL));
  return { kind: 'again' };
}

/**
 * Ends a chat's choice of an unusable model after the default model has answered. One write ends the choice, stores a notice
 * for the user and alerts the operator, unless the chat has since chosen another model. Returns the turn with the notice,
 * or the same turn if no choice was ended.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function endModelChoice(turn: Turn<Env>): Promise<Turn<Env>> {
  const { env, keys, chat, texts, notices, goneModel } = turn;
  const notice = goneModel === undefined ? '' : texts.modelGone(goneModel, env.settings.MODEL);
  if (goneModel === undefined || notices.includes(notice)) return turn;
  const withNotice = [...notices, notice];
  const result = await commit(turn, {
    step: 'model gone',
    changes: [chatState(keys, chat).resetChoice('model'), turn.notify(withNotice)],
    expected: [chatState(keys, chat).expectChoice('model', goneModel)],
    events: [{ event: 'model.gone', gone: goneModel, now: env.settings.MODEL }],
  });
  return result === 'unmet' ? turn : turn.with({ notices: withNotice });
}
