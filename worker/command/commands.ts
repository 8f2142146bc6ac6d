import type { BotCommand, CommandName } from '../../shared/telegram/commands.ts';
import type { ToAsk } from '../env.ts';
import type { Verdict } from '../lane/verdict.ts';
import { busy, lang, model, timezone } from './choices.ts';
import type { CommandContext, CommandHandler } from './command.ts';
import { compact } from './compact.ts';
import { decide } from './decide.ts';
import { exportChat } from './export.ts';
import { forget } from './forget.ts';
import { help, start, whoami } from './help.ts';
import { newConversation } from './new.ts';
import { status } from './status.ts';
import { stop } from './stop.ts';
import { tools } from './tools.ts';
import { usage } from './usage.ts';

/** The commands whose handlers are in the folders of features. */
type FeatureCommand = 'chats' | 'continue' | 'desk' | 'memory' | 'pair' | 'recall' | 'reminders' | 'retry';

/** The handlers of the commands that no feature handles. `shared/telegram/commands.ts` says who may give each command. */
export const COMMANDS: Readonly<Record<Exclude<CommandName, FeatureCommand>, CommandHandler>> = {
  busy,
  compact,
  decide,
  export: exportChat,
  forget,
  help,
  lang,
  model,
  new: newConversation,
  start,
  status,
  stop,
  timezone,
  tools,
  usage,
  whoami,
};

/** Carries out a command that its sender may give. Contract: that of `CommandHandler`. */
export async function carryOut(
  command: BotCommand,
  context: Omit<CommandContext, 'argument'>,
): Promise<Verdict | ToAsk> {
  return context.turn.env.commands[command.name]({ ...context, argument: command.argument });
}
