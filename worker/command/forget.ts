import { CONFIRMED } from '../../shared/telegram/commands.ts';
import { type CommandHandler, replied } from './command.ts';

/**
 * `/forget`: asks first, with a button; the button's command erases all data of the chat. Its admission has already
 * cancelled the running and waiting messages. One step stores the last erasures and the reply that reports them.
 */
export const forget: CommandHandler = async ({ turn, argument }) => {
  const { chatArchive } = turn.env;
  const { currentChat, texts } = turn;
  if (argument !== CONFIRMED)
    return replied('forget', texts.forgetAsks, {
      buttons: [[{ text: texts.forgetButton, command: `/forget ${CONFIRMED}`, destroys: true }]],
    });
  return replied('forget', texts.forgotten, { changes: await chatArchive.erase(currentChat, turn.nowMs()) });
};
