import { type CommandHandler, replied } from './command.ts';

/** `/whoami`: the ids that an operator needs in order to allow a person or a group. */
export const whoami: CommandHandler = (_ports, { turn: { chat, message, texts }, isGroup }) => {
  const from = message.ok ? message.value.from : undefined;
  return replied('whoami', texts.whoami(String(from?.id ?? ''), from?.name ?? '', isGroup ? chat : undefined));
};
