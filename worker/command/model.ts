import { chatState } from '../../shared/state/chat/chat.ts';
import { type CommandHandler, replied } from './command.ts';

/** Telegram's bound for what a button sends. */
const BUTTON_BYTES_MAX = 64;

/** `/model <name>`: the model of this chat, of those that the operator allows. */
export const model: CommandHandler = ({ turn, words }) => {
  const { settings } = turn.env;
  const { texts } = turn;
  const { MODELS: models, MODEL: modelName } = settings;
  const buttons = models
    .map((name) => [{ text: name, command: `/model ${name}` }])
    .filter((row) => row.every(({ command }) => Buffer.byteLength(command) <= BUTTON_BYTES_MAX));
  if (words === '') return replied('model', texts.modelIs(modelName), { buttons });
  const chosen = models.find((name) => name.toLowerCase() === words.toLowerCase());
  if (chosen === undefined) return replied('model', texts.modelUnknown(models), { buttons });
  const changes = [chatState(turn.keys, turn.chat).choose('model', chosen)];
  return replied('model', texts.modelSet(chosen), { changes });
};
