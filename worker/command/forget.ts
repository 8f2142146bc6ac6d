import { CONFIRMED } from '../../shared/telegram/commands.ts';
import { BUSY, LANGUAGE, MODEL, TIME_ZONE } from '../lane/attempt.ts';
import { newSessionId } from '../session/store.ts';
import type { CarryOut } from './commands.ts';
import { replied } from './reply.ts';

/**
 * `/forget`: asks first, with a button; the button's command erases everything of the chat. What runs or waits was
 * cancelled at its admission. The present session goes last, in one step with the reply that says so: a crash before
 * that repeats the erasing, and nothing is said to be erased that is not.
 */
export const forgetChat: CarryOut = async ({ archive, usageBook, reminders }, { attempt, words }) => {
  const { keys, chat, home, session, texts } = attempt;
  if (words !== CONFIRMED)
    return replied('forget', texts.forgetAsks, {
      buttons: [[{ text: texts.forgetButton, command: `/forget ${CONFIRMED}` }]],
    });
  await archive.erasePast(home, session);
  await usageBook.erase(home, attempt.nowMs());
  const coming = await reminders.of(home);
  await archive.eraseBytes(session);
  const own = [keys.session(session), keys.log(session), keys.archive(session)];
  return replied('forget', texts.forgotten, {
    commands: [
      ['UNLINK', ...own],
      ['SREM', keys.archivable, session],
      ...reminders.cancelling(coming),
      ['HDEL', keys.chat(chat), 'calibration', LANGUAGE, MODEL, BUSY, TIME_ZONE],
      ['HSET', keys.chat(chat), 'session', newSessionId()],
    ],
  });
};
