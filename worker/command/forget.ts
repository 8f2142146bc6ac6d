import { CONFIRMED } from '../../shared/telegram/commands.ts';
import { type CommandHandler, replied } from './command.ts';

/**
 * `/forget`: asks for confirmation, with a button. The button's command erases all data of the chat. The admission of that
 * command has already cancelled earlier messages. One step stores the last erasures and the reply that reports them.
 */
export const forget: CommandHandler = async ({ turn, argument }) => {
  const { currentChat, texts } = turn;
  if (argument !== CONFIRMED)
    return replied('forget', texts.forgetAsks, {
      buttons: [[{ text: texts.forgetButton, command: `/forget ${CONFIRMED}`, destroys: true }]],
    });
  return replied('forget', texts.forgotten, { changes: await turn.env.chatArchive.erase(currentChat, turn.nowMs()) });
};
