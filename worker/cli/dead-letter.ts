import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream-id.ts';
import type { OutcomeRecord } from '../lane/lane.ts';

/** A failed message as it is kept, without its text: there may be many. */
export interface DeadLetter {
  /** The operator's name for it: the id in its stream, after its shard where there are several. */
  name: string;
  id: string;
  keys: Keys;
  /** How it ended; empty when that cannot be read. */
  record: Partial<OutcomeRecord>;
}

type StreamEntry = [id: string, fields: string[]];

/** What names a dead letter: an id of its stream, after its shard where there are several. */
export const LETTER_NAME = /^(?:(\d{1,5})\/)?(\d{1,16}-\d{1,10})$/;
const PAGE = 100;

/**
 * The dead letter of a name; throws when there is none, or more than one. Each stream makes its own ids, so the same id
 * may exist in several shards.
 */
export async function findLetter(redis: RedisClient, shards: readonly Keys[], name: string): Promise<DeadLetter> {
  const [, shard, id = ''] = LETTER_NAME.exec(name) ?? [];
  const letters: DeadLetter[] = [];
  for (const [at, keys] of shards.entries()) {
    if (shard !== undefined && Number(shard) !== at) continue;
    for (const entry of await redis.xrange(keys.dead, id, id)) letters.push(letterOf(shards, at, entry));
  }
  const [letter, ...others] = letters;
  if (letter === undefined) throw new Error(`There is no dead letter ${name}.`);
  if (others.length === 0) return letter;
  const names = letters.map((each) => each.name).join(', ');
  throw new Error(`There are ${letters.length} dead letters ${name}: say which one, ${names}.`);
}

/** All dead letters, shard by shard, oldest first. */
export async function allLetters(redis: RedisClient, shards: readonly Keys[]): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for (const shard of shards.keys()) for await (const letter of lettersOf(redis, shards, shard)) letters.push(letter);
  return letters;
}

/** Oldest first, read in pages. */
async function* lettersOf(redis: RedisClient, shards: readonly Keys[], shard: number): AsyncGenerator<DeadLetter> {
  for (let from = '-'; ; ) {
    const page = await redis.xrange(keysOf(shard).dead, from, '+', 'COUNT', PAGE);
    for (const entry of page) yield letterOf(shards, shard, entry);
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < PAGE) return;
    from = `(${last}`;
  }
}

function letterOf(shards: readonly Keys[], shard: number, entry: StreamEntry): DeadLetter {
  const [id] = entry;
  const name = shards.length === 1 ? id : `${shard}/${id}`;
  return { name, id, keys: keysOf(shard), record: objectOf(fieldOf(entry, 'record')) ?? {} };
}

/** A field of a letter. Our own fields stand first; the entry's own fields follow and may have any name. */
export function fieldOf([, fields]: StreamEntry, name: string): string | undefined {
  const at = fields.findIndex((each, index) => index % 2 === 0 && each === name);
  return at < 0 ? undefined : fields[at + 1];
}

/** The object in a text; a damaged letter must not hide the others. */
export function objectOf(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A letter as JSON shows it. */
export function aboutOf({ name, id, record }: DeadLetter) {
  return { ...record, id: name, at: new Date(msOf(id)).toISOString(), ageSeconds: ageSecondsOf(id) };
}

/** A letter in a line. */
export function lineOf({ name, id, record }: DeadLetter): string {
  const { chat = 'no chat', reason = 'no reason', traceId = '' } = record;
  const at = `${new Date(msOf(id)).toISOString()} (${ageInWords(ageSecondsOf(id))} ago)`;
  return `${name}  ${at}  chat ${chat}  ${reason}  trace ${traceId || 'none'}`;
}

/** Redis makes the ids by its own clock, which may be ahead of ours. */
function ageSecondsOf(id: string): number {
  return Math.max(0, Math.round((Date.now() - msOf(id)) / 1000));
}

function ageInWords(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}
