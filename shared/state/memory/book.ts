import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../../redis/keys.ts';
import type { Change, Expected } from '../change.ts';
import { withFormerGroup } from '../chat/chat.ts';
import { UNDO_MS } from '../undo.ts';

/** Where the model may say that a line is from: a page or a tool's result, or a forwarded message. */
export const SOURCES = ['page', 'forward'] as const;
/** `unsure`: it says nothing, and had read for the same message what others wrote. Absent: a person of the chat said it. */
export type Source = (typeof SOURCES)[number] | 'unsure';

/** A line of what is remembered about a chat. Plain JSON. */
export interface MemoryLine {
  readonly id: string;
  readonly text: string;
  readonly source?: Source;
  readonly notedAtMs: number;
  /** The chat under which it is kept: the former id, for a line of a group that became a supergroup. */
  readonly chat: ChatKey;
}

/** A change of one line by the model, as long as it can be undone. Plain JSON. */
export interface MemoryChange {
  readonly id: string;
  /** The message that was being answered. */
  readonly madeIn: EntryId;
  readonly madeAtMs: number;
  readonly before?: MemoryLine | undefined;
  readonly after?: MemoryLine | undefined;
  readonly chat: ChatKey;
}

/** All that is remembered about a chat, oldest line first. */
export interface Memory {
  chat: ChatKey;
  lines: readonly MemoryLine[];
  /** Differs after each change. */
  version: string;
}

const VERSION = 'version';

export type MemoryBook = ReturnType<typeof createMemoryBook>;

/** The memories of the chats of one shard. Each read rejects when Redis cannot be reached. */
export function createMemoryBook(redis: RedisClient, keys: Keys) {
  const put = (chat: ChatKey, id: string, line: MemoryLine | undefined): Change =>
    line ? ['HSET', keys.memory(chat), id, JSON.stringify(line)] : ['HDEL', keys.memory(chat), id];
  const renewed = ({ chat }: Pick<Memory, 'chat'>): Change => ['HSET', keys.memory(chat), VERSION, randomUUID()];
  const dropped = (changes: readonly MemoryChange[]): Change[] =>
    changes.map(({ chat, id }) => ['HDEL', keys.memoryChanges(chat), id]);
  return {
    async of(chat: ChatKey): Promise<Memory> {
      const chats = await withFormerGroup(redis, keys, chat);
      const stored = await Promise.all(chats.map((each) => redis.hgetall(keys.memory(each))));
      const lines = stored.flatMap(({ [VERSION]: _, ...fields }) => parsedIn<MemoryLine>(fields));
      lines.sort((one, other) => one.notedAtMs - other.notedAtMs || one.id.localeCompare(other.id));
      return { chat, lines, version: stored[0]?.[VERSION] ?? '' };
    },
    /** The changes that can be undone, oldest first. */
    async changes(chat: ChatKey): Promise<MemoryChange[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      const stored = await Promise.all(chats.map((each) => redis.hgetall(keys.memoryChanges(each))));
      const all = stored.flatMap((fields) => parsedIn<MemoryChange>(fields));
      return all.sort((one, other) => one.madeAtMs - other.madeAtMs || one.id.localeCompare(other.id));
    },
    /** Holds while nothing was changed since it was read. */
    unchanged: ({ chat, version }: Memory): Expected => [keys.memory(chat), VERSION, version],
    /** Changes a line, so that it can be undone. */
    change: (memory: Memory, change: MemoryChange): Change[] => [
      ...lineOf(change, (line) => put(line.chat, line.id, change.after)),
      ['HSET', keys.memoryChanges(change.chat), change.id, JSON.stringify(change)],
      ['EXPIRE', keys.memoryChanges(change.chat), UNDO_MS / 1_000],
      renewed(memory),
    ],
    undo: (memory: Memory, change: MemoryChange): Change[] => [
      ...lineOf(change, (line) => put(line.chat, line.id, change.before)),
      ...dropped([change]),
      renewed(memory),
    ],
    /** Deletes a line for good, with what could bring it back. */
    delete: (memory: Memory, { chat, id }: MemoryLine, changes: readonly MemoryChange[]): Change[] => [
      put(chat, id, undefined),
      ...dropped(changes.filter(({ before, after }) => (before ?? after)?.id === id)),
      renewed(memory),
    ],
    /** The changes that delete all of it. */
    async erasing(chat: ChatKey): Promise<Change[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      return chats.map((each) => ['UNLINK', keys.memory(each), keys.memoryChanges(each)]);
    },
  };
}

function lineOf({ before, after }: MemoryChange, make: (line: MemoryLine) => Change): Change[] {
  const line = after ?? before;
  return line === undefined ? [] : [make(line)];
}

function parsedIn<Item>(fields: Readonly<Record<string, string>>): Item[] {
  return Object.values(fields).map((json) => JSON.parse(json) as Item);
}
