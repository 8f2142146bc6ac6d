import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../../redis/keys.ts';
import type { Change, Expected } from '../change.ts';
import { withFormerGroup } from '../chat/chat.ts';
import { UNDO_MS } from '../undo.ts';

/** The sources that the model may state for a line. `page`: a page or a tool's result. `forward`: a forwarded message. */
export const SOURCES = ['page', 'forward'] as const;
/**
 * The source of a line. `unsure`: the model stated none, and had read texts of strangers for the same message. Absent: a
 * person of the chat.
 */
export type Source = (typeof SOURCES)[number] | 'unsure';

/** A line of a chat's memory. Plain JSON. */
export interface MemoryLine {
  readonly id: string;
  readonly text: string;
  readonly source?: Source;
  readonly notedAtMs: number;
  /** The chat whose Redis key has the line: the former group, if the line is older than the supergroup. */
  readonly chat: ChatKey;
}

/** A change that the model made to one line, stored so that people can undo the change. Plain JSON. */
export interface MemoryChange {
  readonly id: string;
  /** The message that the model was answering when it made the change. */
  readonly madeIn: EntryId;
  readonly madeAtMs: number;
  readonly before?: MemoryLine | undefined;
  readonly after?: MemoryLine | undefined;
  readonly chat: ChatKey;
}

/** The memory of a chat. */
export interface Memory {
  chat: ChatKey;
  /** Oldest first. */
  lines: readonly MemoryLine[];
  /** A random text that each change replaces; empty before the first change. */
  version: string;
}

const VERSION = 'version';

export type MemoryBook = ReturnType<typeof createMemoryBook>;

/** The memories of the chats of one shard. Each async method rejects when Redis cannot be reached. */
export function createMemoryBook(redis: RedisClient, keys: Keys) {
  const put = (chat: ChatKey, id: string, line: MemoryLine | undefined): Change =>
    line ? ['HSET', keys.memory(chat), id, JSON.stringify(line)] : ['HDEL', keys.memory(chat), id];
  const renewVersion = ({ chat }: Pick<Memory, 'chat'>): Change => ['HSET', keys.memory(chat), VERSION, randomUUID()];
  const dropChanges = (changes: readonly MemoryChange[]): Change[] =>
    changes.map(({ chat, id }) => ['HDEL', keys.memoryChanges(chat), id]);
  return {
    async of(chat: ChatKey): Promise<Memory> {
      const chats = await withFormerGroup(redis, keys, chat);
      const hashes = await Promise.all(chats.map((each) => redis.hgetall(keys.memory(each))));
      const lines = hashes.flatMap(({ [VERSION]: _, ...fields }) => parsedIn<MemoryLine>(fields));
      lines.sort((one, other) => one.notedAtMs - other.notedAtMs || one.id.localeCompare(other.id));
      return { chat, lines, version: hashes[0]?.[VERSION] ?? '' };
    },
    /** The model's changes that can be undone, oldest first. */
    async changes(chat: ChatKey): Promise<MemoryChange[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      const hashes = await Promise.all(chats.map((each) => redis.hgetall(keys.memoryChanges(each))));
      const all = hashes.flatMap((fields) => parsedIn<MemoryChange>(fields));
      return all.sort((one, other) => one.madeAtMs - other.madeAtMs || one.id.localeCompare(other.id));
    },
    /** Condition of a write: nobody has changed the memory since the caller read it. */
    expectUnchanged: ({ chat, version }: Memory): Expected => [keys.memory(chat), VERSION, version],
    /** Changes one line of the memory and stores how people can undo the change. */
    change: (memory: Memory, change: MemoryChange): Change[] => [
      ...lineOf(change, (line) => put(line.chat, line.id, change.after)),
      ['HSET', keys.memoryChanges(change.chat), change.id, JSON.stringify(change)],
      ['EXPIRE', keys.memoryChanges(change.chat), UNDO_MS / 1_000],
      renewVersion(memory),
    ],
    undo: (memory: Memory, change: MemoryChange): Change[] => [
      ...lineOf(change, (line) => put(line.chat, line.id, change.before)),
      ...dropChanges([change]),
      renewVersion(memory),
    ],
    /** Deletes a line for good, together with those of `changes` that concern the line. */
    delete: (memory: Memory, { chat, id }: MemoryLine, changes: readonly MemoryChange[]): Change[] => [
      put(chat, id, undefined),
      ...dropChanges(changes.filter(({ before, after }) => (before ?? after)?.id === id)),
      renewVersion(memory),
    ],
    /** The changes that erase the memory of a chat. */
    async changesToErase(chat: ChatKey): Promise<Change[]> {
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
