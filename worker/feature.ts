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
import type { Destination } from '../shared/telegram/messages.ts';
import type { Texts } from '../shared/texts/language.ts';
import type { CommandHandler, Env } from './env.ts';
import type { Delivery, DeliveryTime, Ending, Verdict } from './lane/verdict.ts';
import type { Limits } from './limits.ts';
import type { SettingFiles } from './setting-files.ts';
import type { ShardEnv } from './shard-env.ts';
import type { Toolbox } from './tools/toolbox.ts';

/**
 * Something that Spillway can do besides the way of a message, in a folder of its own under `worker/features/`. The core calls
 * its hooks in the order of the list `FEATURES`, and imports none of it. Hooks return changes, which the core stores in its
 * own fenced writes. Contract: each hook may run again after a crash, and rejects only when Redis cannot be reached.
 */
export interface Feature {
  readonly name: string;
  /** The handlers of its commands; who may give them is in `shared/telegram/commands.ts`. */
  readonly commands?: Readonly<Partial<Record<CommandName, CommandHandler>>>;
  /** The messages that it enters into the flow itself, by the kind of their content. */
  readonly selfEntered?: Readonly<Record<string, SelfEntered>>;
  /** Where and how a message is answered that came from a chat of which the bot is no part. */
  readonly elsewhere?: Elsewhere;
  /** A text that ends the system prompt. One feature has it: the session has one place to keep it. */
  readonly fixedText?: FixedText;
  /** Its tools for the model. */
  tools?(shard: ShardEnv): Toolbox;
  /** The tools of others, for all shards of a process. One feature has them. */
  outerTools?(root: Root, files: SettingFiles, limits: Limits): Promise<(Toolbox & Service) | undefined>;
  /** What runs in each shard. */
  start?(shard: ShardEnv): Service;
  /** What serves pages on the HTTP port of the process; nothing where the settings do not ask for it. */
  serve?(root: Root): Promise<(Service & { routes: readonly Route[] }) | undefined>;
  /** Words of messages that hold them in another form than writing, or what becomes of the message; nothing where none does. */
  spokenWords?(
    turn: Turn<Env>,
    messages: readonly InboundMessage[],
    signal: AbortSignal,
  ): Promise<Spoken | Verdict | undefined>;
  /** Lines of `/help`. */
  help?(turn: Turn<Env>): readonly string[];
  /** The conclusion with what it adds, before it is stored. */
  beforeConclude?(turn: Turn<Env>, conclusion: Conclusion, ending: Ending): Promise<Conclusion>;
  /** What the model changed, while it worked on some messages, that stays. */
  changesByModel?(turn: Turn<Env>, entries: readonly EntryId[]): Promise<readonly UndoableChanges[]>;
  /** What cannot come along where a group becomes a supergroup of another shard, in words, and the changes that end it. */
  leftBehind?(turn: Turn<Env>): Promise<{ texts: readonly string[]; changes: readonly Change[] }>;
  /** The changes that erase what it keeps of a chat. */
  forgotten?(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<readonly Change[]>;
  /** What it keeps of a chat, as lines of Markdown for a person. */
  exported?(turn: Turn<Env>): Promise<readonly string[]>;
}

/** Changes by the model, each on a line, with the command that undoes it. */
export interface UndoableChanges {
  /** The line above them. */
  title: string;
  lines: readonly (readonly Inline[])[];
  commands: readonly string[];
}

/** Words that were spoken in messages, by the places of these, and the turn that keeps them. */
export interface Spoken {
  kind: 'spoken';
  words: ReadonlyMap<number, { label: string; text: string }>;
  turn: Turn<Env>;
}

/** How a message is answered that came from a chat of which the bot is no part. */
export interface Elsewhere {
  /** Who writes, and where, for the line before such a message, which the model reads. Pure. */
  writer(message: InboundMessage): string;
  /** The env of such a turn: fewer tools, and nothing is shown before the answer. Pure. */
  envOf(env: Env): Env;
  /** Sees to it that something stands there. Returns what resolves when it does, or cannot now. */
  begin(turn: Turn<Env>): () => Promise<void>;
  /** Contract: as `deliver` of the outbox. */
  deliver(turn: Turn<Env>, conclusion: Conclusion, to: Destination, time: DeliveryTime): Promise<Delivery>;
}

/** A text of a chat that ends the system prompt, and stays the same for a session until that is compacted. */
export interface FixedText {
  /** What stands before it. */
  readonly frame: string;
  /** Whether this turn shows it. Pure. */
  isShown(turn: Pick<Turn, 'isOfGuest'>): boolean;
  /** The text as it is now, and the condition that it has not changed since. */
  of(turn: Turn<Env>, windowTokens: number): Promise<{ text: string; unchanged: Expected }>;
}

/** What a feature says of messages that it enters itself: nobody has written them, so the core asks what to do with them. */
export interface SelfEntered {
  /** What such a message is, for the line before it, which the model reads. Pure. */
  header(message: InboundMessage, facts: HeaderFacts): string;
  /** The line before a further one that is answered with it. Pure. */
  label(message: InboundMessage, facts: Pick<HeaderFacts, 'timeZone' | 'nowMs'>): string;
  /** Whether the attempt answers those that wait behind it as well. */
  takesOthers(turn: Turn): boolean;
  /** Keeps those that it takes. */
  keep(turn: Turn, pieces: readonly Waiting[]): Change[];
  /** Notices before its answer. */
  notices(turn: Turn<Env>): string[];
  /** Its own words, for people who get no answer to it. */
  plainTexts(turn: Turn, conclusion: Conclusion): string[];
  /** What people read while it waits for the model. */
  waitingNotice(turn: Turn): string;
  /** What people read at once where it waits behind a question to them. */
  behindQuestion(message: InboundMessage, texts: Texts): string;
  /** The changes with which it ends because its chat is gone. */
  chatGone(turn: Turn<Env>): Promise<Change[]>;
}

/** The facts in the header of a message beyond the message itself. */
export interface HeaderFacts {
  /** The time zone of its dates and times. */
  timeZone: string;
  /** Proves that the gateway wrote it; see `messageCode`. */
  code: string;
  nowMs: number;
}
