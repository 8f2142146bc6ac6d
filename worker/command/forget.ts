import { CONFIRMED } from '../../shared/telegram/commands.ts';
import { type CommandHandler, replied } from './command.ts';

/**
 * `/forget`: asks first, with a button; the button's command erases everything of the chat. What runs or waits was
 * cancelled at its admission. The last step is one with the reply that says so.
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
