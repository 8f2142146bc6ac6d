import type { InboundMessage } from '../shared/flow/message.ts';
import type { DeadLetters } from '../shared/state/lane/dead-letters.ts';
import type { Head } from '../shared/state/lane/lanes.ts';
import type { Budget } from '../shared/state/spending/budget.ts';
import type { UsageBook } from '../shared/state/spending/usage-book.ts';
import type { NotedFiles } from '../shared/state/turn/noted-files.ts';
import type { Turn } from '../shared/state/turn/turn.ts';
import type { CommandName } from '../shared/telegram/commands.ts';
import type { Books } from './budget/guarded.ts';
import type { ChatArchive } from './command/chat-archive.ts';
import type { ChatState } from './command/chat-state.ts';
import type { Elsewhere, Feature, FixedText, SelfEntered } from './feature.ts';
import type { Verdict } from './lane/verdict.ts';
import type { ProgressViews } from './reply/progress.ts';
import type { UserRecord } from './session/record.ts';
import type { Sessions } from './session/store.ts';
import type { ShardEnv } from './shard-env.ts';
import type { TurnTime } from './turn/deadline.ts';

/**
 * The services that the turns of a shard use, as `turn.env`. For each turn, `envFor` replaces the settings and the tools with
 * those of the turn's chat.
 */
export interface Env extends ShardEnv {
  /** The budget that bounds the cost of calls; undefined if no limit is set. */
  budget: Pick<Budget, 'spentBy' | 'nearlySpent'> | undefined;
  sessions: Sessions;
  /** Shows the progress of a running turn in its chat. */
  progress: ProgressViews;
  /** The files that tools want to send with the reply. */
  files: NotedFiles;
  /** The cost limits and the accounting of model calls. */
  books: Books;
  elsewhere: Elsewhere | undefined;
  features: readonly Feature[];
  commands: Readonly<Record<CommandName, CommandHandler>>;
  /** The handlers of messages that features add to the stream themselves, by the kind of the message's content. */
  selfEntered: ReadonlyMap<string | undefined, SelfEntered>;
  fixedText: FixedText | undefined;
  usageBook: UsageBook;
  deadLetters: DeadLetters;
  chatArchive: ChatArchive;
  /** `wake` runs the head of a lane now, e.g. after a person has answered the head's question. */
  chatState: ChatState & { wake(head: Head): Promise<void> };
  /** Whether the bot gets every message of a group; `undefined` if Telegram does not say. Contract: never rejects. */
  seesGroups(): Promise<boolean | undefined>;
  /** Calls `look` every 250 ms in the first 2 s of an attempt, then every second, until the returned function is called. */
  watch: (turn: Turn, look: () => Promise<void>) => () => void;
}

/** A command that its sender may give, with the turn of its message. */
export interface CommandContext {
  turn: Turn<Env>;
  message: InboundMessage;
  /** The text after the command's name, trimmed. */
  argument: string;
  isGroup: boolean;
  time: TurnTime;
}

/** A message for the model to answer. */
export interface ToAsk {
  kind: 'ask';
  message: InboundMessage;
  /** The record for the log, e.g. of an earlier message that is asked again; absent: that of `message`. */
  pending?: UserRecord;
}

/**
 * Carries out one command. Returns a verdict, usually with the reply and the changes to store in one step with the reply; or a
 * message for the model, such as the text after `/new`.
 *
 * Contract: throws `FencedError`, or what Redis throws; may be carried out again from the start after any crash, and again in
 * each attempt while the model has not answered its message.
 */
export type CommandHandler = (context: CommandContext) => Verdict | ToAsk | Promise<Verdict | ToAsk>;
