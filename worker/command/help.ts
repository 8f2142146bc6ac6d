import type { Turn } from '../../shared/state/turn/turn.ts';
import { HELP_NAMES } from '../../shared/telegram/commands.ts';
import type { Texts } from '../../shared/texts/language.ts';
import type { Env } from '../env.ts';
import { type CommandContext, type CommandHandler, replied } from './command.ts';

/** `/help`: describes the bot and, in a group, says when the bot answers. */
export const help: CommandHandler = async (context) => replied('help', await helpOf(context));

/** The text of `/help`. */
export async function helpOf({ turn, isGroup }: CommandContext): Promise<string> {
  return [...(await introOf(turn, isGroup)), menuOf(turn.texts)].join('\n\n');
}

/** `/start`, which Telegram apps send when somebody starts a chat with the bot: greets, and lists the commands. */
export const start: CommandHandler = async ({ turn, isGroup }) => {
  const { texts } = turn;
  const greeting = isGroup ? (await introOf(turn, isGroup)).join('\n\n') : texts.start;
  return replied('start', `${greeting}\n\n${menuOf(texts)}`);
};

async function introOf(turn: Turn<Env>, isGroup: boolean): Promise<string[]> {
  const { env, texts } = turn;
  const title = [texts.helpTitle, ...env.features.flatMap((each) => each.help?.(turn) ?? [])].join('\n');
  if (!isGroup) return [title];
  const isHidden = (await env.seesGroups()) === false;
  return [title, texts.helpInGroups, ...(isHidden ? [texts.helpPrivacy] : [])];
}

function menuOf({ menu }: Texts): string {
  return HELP_NAMES.map((command) => `/${command} ${menu[command]}`).join('\n');
}

/** `/whoami`: the ids that an operator needs in order to allow a person or a group. */
export const whoami: CommandHandler = ({ turn: { chat, message, texts }, isGroup }) => {
  const from = message.ok ? message.value.from : undefined;
  return replied('whoami', texts.whoami(String(from?.id ?? ''), from?.name ?? '', isGroup ? chat : undefined));
};
