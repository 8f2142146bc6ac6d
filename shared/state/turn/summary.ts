import { jsonFields } from '../../base/fields.ts';
import { counted } from '../../base/text.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { type EndedAttempt, endsIn } from './aspects.ts';

/** A message's turn, for reports. Redis stores a turn until an hour after the outcome. Times are ms since the epoch. */
export interface TurnSummary {
  /** The attempt's number, counted anew after each recovery step, round of tools and conclusion. 0: none has begun since. */
  attempt: number;
  firstBegunMs?: number;
  /** When the running attempt began; absent if none runs. After a crash, this remains until the next attempt begins. */
  runningSinceMs?: number;
  /** The deadline for the person's decision; absent if the turn waits for none. */
  parkedUntilMs?: number;
  /** The present or last step of the turn, in words. */
  step: string;
  /** The ends of the newest attempts, oldest first. */
  ended: EndedAttempt[];
  /** The number of attempts that died with their process. */
  crashes: number;
  recoveries: number;
  toolRounds: number;
  outageTries: number;
  /** The numbers of all parts and of sent parts of the stored reply; absent before the conclusion. */
  parts?: { total: number; sent: number };
  /** The events outside of this turn that end its message: `cancelled`, `refused`, `merged`. */
  marks: string[];
}

/** Reads the turn of a message; `undefined` before anything is stored in the turn, and once the turn has expired. */
export async function readTurn(redis: RedisClient, keys: Keys, entry: EntryId): Promise<TurnSummary | undefined> {
  const fields = await turnReads(redis, keys).fieldsOf(entry);
  return Object.keys(fields).length === 0 ? undefined : summaryOf(fields);
}

/** Summarises a turn from the fields of its hash. Pure. */
export function summaryOf(fields: Readonly<Record<string, string>>): TurnSummary {
  const number = (name: string): number => Number(fields[name] ?? 0);
  const parts = partsOf(fields);
  return {
    attempt: number('attempts'),
    ...(fields.firstBegunAt !== undefined && { firstBegunMs: number('firstBegunAt') }),
    ...(fields.running !== undefined && { runningSinceMs: number('running') }),
    ...(fields.parkedUntil !== undefined && { parkedUntilMs: number('parkedUntil') }),
    step: stepOf(fields, parts),
    ended: endsIn(fields.ended),
    crashes: number('crashes'),
    recoveries: number('recoveries'),
    toolRounds: number('rounds'),
    outageTries: number('outageTries'),
    ...(parts && { parts }),
    marks: Object.entries(MARKS).flatMap(([field, mark]) => (fields[field] === undefined ? [] : [mark])),
  };
}

const MARKS = { cancelled: 'cancelled', refused: 'refused', mergedInto: 'merged' };

function stepOf(fields: Readonly<Record<string, string>>, parts: TurnSummary['parts']): string {
  if (fields.replied !== undefined) return 'compacting after the answer';
  if (parts) return `delivering, ${parts.sent} of ${parts.total} parts sent`;
  const round = Number(fields.rounds ?? 0);
  const isCalling = fields[`did:calls:${round}`] !== undefined && fields[`did:results:${round}`] === undefined;
  if (isCalling) return `calling tools, round ${round}`;
  if (fields.stage !== undefined && fields.stage !== 'none')
    return `asking the model after a recovery (${fields.stage})`;
  return round > 0 ? `asking the model after ${counted(round, 'round')} of tools` : 'asking the model';
}

function partsOf(fields: Readonly<Record<string, string>>): TurnSummary['parts'] {
  if (fields.conclusion === undefined) return undefined;
  const sentParts = Object.entries(fields).filter(([name, value]) => /^part:\d+$/.test(name) && value === 'sent');
  const parts = jsonFields(fields.conclusion)?.parts;
  return { total: Array.isArray(parts) ? parts.length : 0, sent: sentParts.length };
}

/** Binds the scripts of an attempt at a message. `Begun` is the type of the reply of `begin.lua`. */
export function bindTurnScripts<Begun>(redis: RedisClient) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, `${import.meta.dirname}/${name}.lua`);
  return {
    begin: script<Begun>('begin'),
    write: script<string>('write'),
    release: script<0 | 1>('release-attempt'),
    noteProgress: script<0 | 1>('note-progress'),
  };
}

/** Reads turns, for code outside of their attempts. Methods reject when Redis cannot be reached. */
export function turnReads(redis: RedisClient, keys: Pick<Keys, 'turn'>) {
  return {
    isCancelled: async (entry: EntryId): Promise<boolean> => (await redis.hexists(keys.turn(entry), 'cancelled')) === 1,
    isRunning: async (entry: EntryId): Promise<boolean> => (await redis.hexists(keys.turn(entry), 'running')) === 1,
    fieldsOf: (entry: EntryId): Promise<Record<string, string>> => redis.hgetall(keys.turn(entry)),
  };
}
