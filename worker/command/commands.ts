import type { Instruments } from '../../shared/base/instruments.ts';
import type { DeadLetters } from '../../shared/state/lane/dead-letters.ts';
import type { BotCommand, CommandName } from '../../shared/telegram/commands.ts';
import type { AskPorts } from '../ask/conversation.ts';
import type { TurnTime } from '../ask/time.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { UsageBook } from '../lane/usage-book.ts';
import type { Decision } from '../lane/verdict.ts';
import type { ReminderBook } from '../reminders/book.ts';
import type { ConversationStore } from '../session/store.ts';
import type { ChatMemory } from '../tools/recall/chat-index.ts';
import type { ChatArchive } from './chat-archive.ts';
import type { ChatState } from './chat-state.ts';
import { chooseBusy, chooseLanguage, chooseModel, chooseTimeZone } from './choices.ts';
import { compactNow } from './compact.ts';
import type { EraseChat } from './erasure.ts';
import { exportChat } from './export.ts';
import { forgetChat } from './forget.ts';
import { help, start } from './help.ts';
import { recall } from './recall.ts';
import { reminders } from './reminders.ts';
import { retry } from './retry.ts';
import { status } from './status.ts';
import { newConversation, stop } from './stop.ts';
import { usage } from './usage.ts';

/** What commands work with. */
export interface CommandPorts {
  ask: AskPorts & { store: ConversationStore; instruments: Pick<Instruments, 'log'> };
  state: ChatState;
  archive: ChatArchive & { erase: EraseChat };
  usageBook: UsageBook;
  deadLetters: DeadLetters;
  memory: ChatMemory;
  reminders: Pick<ReminderBook, 'of' | 'cancelling'>;
  /**
   * Whether the bot gets every message of a group. Contract: never rejects; `undefined` while Telegram does not say.
   */
  seesGroups: () => Promise<boolean | undefined>;
}

/** A command as it is carried out. */
export interface Order {
  attempt: Attempt;
  /** What stands behind the command's name, trimmed. */
  words: string;
  /** Whether it was given in a group. */
  isGroup: boolean;
  time: TurnTime;
}

/**
 * Carries out one command: its reply, and its changes in Redis.
 *
 * Contract: throws `FencedError`, or what Redis throws; may be carried out again from the start after any crash.
 */
export type CarryOut = (ports: CommandPorts, order: Order) => Decision | Promise<Decision>;

const CARRY_OUT: Readonly<Record<CommandName, CarryOut>> = {
  start,
  help,
  new: newConversation,
  stop,
  retry,
  compact: compactNow,
  status,
  usage,
  model: chooseModel,
  recall,
  export: exportChat,
  forget: forgetChat,
  lang: chooseLanguage,
  busy: chooseBusy,
  timezone: chooseTimeZone,
  reminders,
};

/** Carries out a command that its sender may give. Contract: as `CarryOut`. */
export async function carryOut(
  ports: CommandPorts,
  { name, words }: BotCommand,
  about: Omit<Order, 'words'>,
): Promise<Decision> {
  return CARRY_OUT[name](ports, { ...about, words });
}
