import type { Route } from '../shared/app/health.ts';
import type { Root } from '../shared/app/process.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { InboundMessage, Waiting } from '../shared/flow/message.ts';
import type { Inline } from '../shared/flow/reply.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../shared/redis/keys.ts';
import type { Change, Expected } from '../shared/state/change.ts';
import type { Conclusion } from '../shared/state/turn/record.ts';
import type { Turn } from '../shared/state/turn/turn.ts';
import type { CommandName } from '../shared/telegram/commands.ts';
import type { Texts } from '../shared/texts/language.ts';
import type { CommandHandler, Env } from './env.ts';
import type { Delivery, DeliveryTime, Ending, Verdict } from './lane/verdict.ts';
import type { Limits } from './limits.ts';
import type { SettingFiles } from './setting-files.ts';
import type { ShardEnv } from './shard-env.ts';
import type { Toolbox } from './tools/toolbox.ts';

/**
 * A capability of Spillway besides answering messages. Each feature has its own folder under `worker/features/`. The turns and
 * services of the worker call features only through this interface, in the order of the list `FEATURES`. Hooks return changes,
 * which the worker stores in its own fenced writes. Contract: each hook may run again after a crash. A hook of a turn rejects
 * only with `FencedError`, or while Redis is unreachable.
 */
export interface Feature {
  readonly name: string;
  /** The handlers of the feature's commands. `shared/telegram/commands.ts` says who may give each command. */
  readonly commands?: Readonly<Partial<Record<CommandName, CommandHandler>>>;
  /** Handlers of the messages that the feature adds to the stream itself, by the kind of their content. */
  readonly selfEntered?: Readonly<Record<string, SelfEntered>>;
  /** Answers messages from chats that the bot is not part of. */
  readonly elsewhere?: Elsewhere;
  /** A text at the end of the system prompt. Only one feature may have such a text, since a session stores only one. */
  readonly fixedText?: FixedText;
  /** The feature's tools for the model. */
  tools?(shard: ShardEnv): Toolbox;
  /** The tools of MCP servers, for all shards of a process. Only one feature may have them. */
  outerTools?(root: Root, files: SettingFiles, limits: Limits): Promise<(Toolbox & Service) | undefined>;
  /** Starts a background service of one shard. */
  start?(shard: ShardEnv): Service;
  /** Serves pages on the HTTP port of the process; `undefined` if the settings do not ask for them. */
  serve?(root: Root): Promise<(Service & { routes: readonly Route[] }) | undefined>;
  /** Transcripts of the recordings in messages; or a verdict if the attempt must end here; `undefined` without a recording. */
  transcribe?(
    turn: Turn<Env>,
    messages: readonly InboundMessage[],
    signal: AbortSignal,
  ): Promise<Transcripts | Verdict | undefined>;
  /** Lines about the feature for `/help`. */
  help?(turn: Turn<Env>): readonly string[];
  /** Returns the conclusion to store: the given one, with the additions of the feature. */
  beforeConclude?(turn: Turn<Env>, conclusion: Conclusion, ending: Ending): Promise<Conclusion>;
  /** The changes that the model made while it answered these messages, for the undo buttons. */
  listUndoableChanges?(turn: Turn<Env>, entries: readonly EntryId[]): Promise<readonly UndoableChanges[]>;
  /** When a group moves to another shard: notices about the data that the group loses, and changes that delete the data. */
  dropOnShardMove?(turn: Turn<Env>): Promise<{ texts: readonly string[]; changes: readonly Change[] }>;
  /** The changes that erase the feature's data of a chat. */
  changesToErase?(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<readonly Change[]>;
  /** The feature's data of a chat, as lines of Markdown for a person. */
  linesToExport?(turn: Turn<Env>): Promise<readonly string[]>;
}

/** Changes by the model, each on a line, with the commands that undo them. */
interface UndoableChanges {
  /** The line above the changes. */
  title: string;
  lines: readonly (readonly Inline[])[];
  commands: readonly string[];
}

/** The transcripts, by the index of their message in the list, and the turn in which the transcripts are stored. */
export interface Transcripts {
  kind: 'transcribed';
  byIndex: ReadonlyMap<number, { label: string; text: string }>;
  turn: Turn<Env>;
}

/** Answers a message from a chat that the bot is not part of. */
export interface Elsewhere {
  /** The author and the chat, for the line that the model reads before the message. Pure. */
  writer(message: InboundMessage): string;
  /** The env of a turn from such a chat, with fewer tools and without progress. Pure. */
  envOf(env: Env): Env;
  /** Begins to send a placeholder into the chat. Returns a function that waits until the send has succeeded or failed. */
  begin(turn: Turn<Env>): () => Promise<void>;
  /** Delivers the conclusion of the message. Contract: throws `FencedError`, or what Redis throws. */
  deliver(turn: Turn<Env>, conclusion: Conclusion, time: DeliveryTime): Promise<Delivery>;
}

/**
 * A text of a chat at the end of the system prompt. A session stores a copy, which stays the same until the session is
 * compacted or the feature removes the copy.
 */
export interface FixedText {
  /** The line before the text. */
  readonly frame: string;
  /** Whether the requests of this turn contain the text. Pure. */
  isShown(turn: Pick<Turn, 'isOfGuest'>): boolean;
  /** The current text, and a condition for a later write: that the text has not changed since. */
  of(turn: Turn<Env>, windowTokens: number): Promise<{ text: string; unchanged: Expected }>;
}

/** Handles messages that do not come from Telegram but from a feature, such as due reminders. */
export interface SelfEntered {
  /** Describes the message, for the line that the model reads before it. Pure. */
  header(message: InboundMessage, facts: HeaderFacts): string;
  /** The line before a message that was merged into another one. Pure. */
  label(message: InboundMessage, facts: Pick<HeaderFacts, 'timeZone' | 'nowMs'>): string;
  /** Whether messages of the same kind that wait behind this message in the lane are to be merged into it. */
  takesOthers(turn: Turn): boolean;
  /** Changes that store the messages that were merged into this message. */
  storeMerged(turn: Turn, pieces: readonly Waiting[]): Change[];
  /** The notices to show before the answer. */
  notices(turn: Turn<Env>): string[];
  /** The texts of the message itself, for people who get no answer to the message. */
  plainTexts(turn: Turn, conclusion: Conclusion): string[];
  /** The notice to people while the message waits for the model. */
  waitingNotice(turn: Turn): string;
  /** The notice to people if the message waits until they have answered an earlier question. */
  behindQuestion(message: InboundMessage, texts: Texts): string;
  /** The changes that end the message because its chat is gone. */
  chatGone(turn: Turn<Env>): Promise<Change[]>;
}

/** Facts that the header of a message contains but the message itself does not. */
export interface HeaderFacts {
  /** The time zone of dates and times in the header. */
  timeZone: string;
  /** The code that proves that the gateway wrote the header; see `messageCode`. */
  code: string;
  nowMs: number;
}
