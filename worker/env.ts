import type { Observability } from '../shared/base/observability.ts';
import type { DeadLetters } from '../shared/state/lane/dead-letters.ts';
import type { Head } from '../shared/state/lane/lanes.ts';
import type { MemoryBook } from '../shared/state/memory/book.ts';
import type { ReminderBook } from '../shared/state/reminder/book.ts';
import type { UsageBook } from '../shared/state/spending/usage-book.ts';
import type { NotedFiles } from '../shared/state/turn/noted-files.ts';
import type { SummonsBook } from '../shared/state/turn/summons.ts';
import type { BreakerView } from '../shared/telegram/breaker.ts';
import type { Telegram } from '../shared/telegram/client.ts';
import type { ChatArchive } from './command/chat-archive.ts';
import type { ChatState } from './command/chat-state.ts';
import type { CommandHandler } from './command/command.ts';
import type { Lane } from './lane/lane.ts';
import type { Settings } from './lane/settings.ts';
import type { Transcriber } from './media/transcriber.ts';
import type { Endpoint } from './recovery/effects.ts';
import type { ProgressViews } from './reply/progress.ts';
import type { ConversationStore } from './session/store.ts';
import type { ChatMemory } from './tools/recall/chat-memory.ts';
import type { Toolbox } from './tools/toolbox.ts';
import type { Exclusions } from './tools/toolboxes.ts';

/** The services of a process and of one of its shards, as the turns of one chat use them. Built once at the root. */
export interface Env extends Endpoint, ConversationStore, Observability {
  /** The settings of the process, with what the operator and the chat have chosen over them. */
  settings: Settings;
  telegram: Telegram;
  /** Whether Telegram answers. */
  breaker: BreakerView;
  /** The views by which a chat sees that its turn runs. */
  progress: ProgressViews;
  lane: Lane;
  /** The tools that the chat and the sender may use. */
  tools: Toolbox & Exclusions;
  /** The files that tools have noted for the reply. */
  files: NotedFiles;
  /** Absent without an endpoint that turns speech into text. */
  transcriber: Transcriber | undefined;
  summonses: SummonsBook;
  memoryBook: MemoryBook;
  reminders: ReminderBook;
  usageBook: UsageBook;
  deadLetters: DeadLetters;
  chatArchive: ChatArchive;
  /** The index of what was said in a chat. */
  recall: ChatMemory;
  /** `wake` makes the head of a lane a job that runs now: what it waited for is decided. */
  chatState: ChatState & { wake(head: Head): Promise<void> };
  /** Whether the bot gets every message of a group. Contract: never rejects; `undefined` while Telegram does not say. */
  seesGroups(): Promise<boolean | undefined>;
  /** The acts of operators in the chat of alerts. Contract: as `CommandHandler`. */
  desk: CommandHandler;
}
