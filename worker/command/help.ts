import { HELP_NAMES } from '../../shared/telegram/commands.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import { type CommandContext, type CommandHandler, type CommandPorts, replied } from './command.ts';

/** `/help`: what the bot can do, and in a group when it answers. */
export const help: CommandHandler = async (ports, context) => replied('help', await helpOf(ports, context));

/** What the bot can do in a chat. Contract: as `CommandHandler`. */
export async function helpOf(ports: CommandPorts, { turn: { texts }, isGroup }: CommandContext): Promise<string> {
  return [...(await place(ports, texts, isGroup)), menuOf(texts)].join('\n\n');
}

/** `/start`, which apps send when somebody opens the chat with the bot. */
export const start: CommandHandler = async (ports, { turn: { texts }, isGroup }) => {
  const greeting = isGroup ? (await place(ports, texts, isGroup)).join('\n\n') : texts.start;
  return replied('start', `${greeting}\n\n${menuOf(texts)}`);
};

async function place({ ask, installation }: CommandPorts, texts: Texts, isGroup: boolean): Promise<string[]> {
  const title = [texts.helpTitle, ...(ask.settings.hears ? [texts.helpVoice] : []), texts.helpReminders].join('\n');
  if (!isGroup) return [title];
  const isHidden = (await installation.seesGroups()) === false;
  return [title, texts.helpInGroups, ...(isHidden ? [texts.helpPrivacy] : [])];
}

function menuOf({ menu }: Texts): string {
  return HELP_NAMES.map((command) => `/${command} ${menu[command]}`).join('\n');
}
