import { parseChatKey } from '../../../shared/redis/keys.ts';
import { allowedNow } from '../../../shared/state/chat/allowed-people.ts';
import { DESK_MENU } from '../../../shared/telegram/commands.ts';
import { helpOf } from '../../command/help.ts';
import type { DeskCall, DeskHandler } from './feature.ts';

/** `/help`: the commands of operators, and the usual ones if the bot also answers messages in this chat. */
export const help: DeskHandler = async (call) => {
  const lines = Object.entries(DESK_MENU).map(([word, description]) => `/${word} ${description}`);
  const conversationHelp = (await isConversation(call)) ? ['', await helpOf(call.context)] : [];
  return { text: ['Commands for operators:', ...lines, ...conversationHelp].join('\n') };
};

/** Whether the bot also answers messages in the operators' chat. */
export async function isConversation({ context: { turn } }: DeskCall): Promise<boolean> {
  const { redis, settings } = turn.env;
  const ids = await allowedNow(redis, settings.TELEGRAM_ALLOWED_IDS)();
  return ids === 'everyone' || ids.has(parseChatKey(turn.chat)?.chatId ?? 0);
}
