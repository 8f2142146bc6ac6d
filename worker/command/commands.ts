import type { BotCommand, CommandName } from '../../shared/telegram/commands.ts';
import type { Verdict } from '../lane/verdict.ts';
import { busy } from './busy.ts';
import type { CommandContext, CommandHandler } from './command.ts';
import { compact } from './compact.ts';
import { decide } from './decide.ts';
import { exportChat } from './export.ts';
import { forget } from './forget.ts';
import { help, start, whoami } from './help.ts';
import { lang } from './lang.ts';
import { memory } from './memory.ts';
import { model } from './model.ts';
import { newConversation } from './new.ts';
import { recall } from './recall.ts';
import { reminders } from './reminders.ts';
import { retry } from './retry.ts';
import { status } from './status.ts';
import { stop } from './stop.ts';
import { timezone } from './timezone.ts';
import { tools } from './tools.ts';
import { usage } from './usage.ts';

/** The handler of each command of a chat; who may give it, where it waits and its menu entry are in `shared/telegram/commands.ts`. */
export const COMMANDS: Readonly<Record<Exclude<CommandName, 'desk'>, CommandHandler>> = {
  ...{ busy, compact, decide, export: exportChat, forget, help, lang, memory, model },
  ...{ new: newConversation, recall, reminders, retry, start, status, stop, timezone, tools, usage, whoami },
};

/** Carries out a command that its sender may give. Contract: as `CommandHandler`. */
export async function carryOut({ name, words }: BotCommand, context: Omit<CommandContext, 'words'>): Promise<Verdict> {
  return context.turn.env.commands[name]({ ...context, words });
}
