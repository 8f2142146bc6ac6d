import { join } from 'node:path';
import { alertCommand } from '../../shared/flow/alert.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type EntryId, INBOUND_GROUP, type Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { leftLanesAlert } from '../alerts/messages.ts';
import type { RedisClock } from './clock.ts';
import { type Head, type HeadReply, headOf } from './head.ts';

/** What a pass of repairs has found. */
export interface Readmission {
  /** The heads of all lanes that are not paused. */
  heads: Head[];
  /** Entries that name no chat. */
  broken: EntryId[];
  /** How many pending entries were put back into their lane. */
  restored: number;
  /** Entries of lanes that a later version may know: they are left alone. */
  foreign: EntryId[];
}

/** Redis does nothing else meanwhile: some two milliseconds. */
const SLICE = 200;
/** Longer than a rolling upgrade takes from one process to the next. */
const LEFT_MS = 60_000;

/**
 * Restores pending entries that are in no lane to their place, and finds all heads: slice by slice, each a script. Of
 * foreign entries that no later version takes for `leftMs` the operator is alerted: nothing else would tell of them.
 */
export function bindReadmission(
  redis: RedisClient,
  keys: Keys,
  clock: RedisClock,
  leftMs = LEFT_MS,
): () => Promise<Readmission> {
  const bind = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const readmit = bind<[from: EntryId | '', EntryId[], number, EntryId[], timeMs: number]>('readmit');
  const headsIn = bind<[cursor: string, HeadReply[]]>('heads');
  const at = [keys.inbound, keys.lanes, keys.absent];
  /** Since when this process has seen each foreign entry, by a clock that never steps, and of how many it has told. */
  let seenMs: ReadonlyMap<EntryId, number> = new Map();
  let told = 0;
  const tellLeft = async (foreign: readonly EntryId[]): Promise<void> => {
    const nowMs = performance.now();
    seenMs = new Map(foreign.map((entry) => [entry, seenMs.get(entry) ?? nowMs]));
    const left = foreign.filter((entry) => nowMs - (seenMs.get(entry) ?? nowMs) >= leftMs).length;
    if (left > told) await redis.call(...alertCommand(keys, leftLanesAlert(left)));
    told = left;
  };
  return async () => {
    const found: Readmission = { heads: [], broken: [], restored: 0, foreign: [] };
    for (let from: EntryId | '' | undefined; from !== ''; ) {
      const args = [INBOUND_GROUP, keys.lanePrefix, SLICE, from ?? ''];
      const [next, broken, restored, foreign] = await clock.learn(
        () => readmit(at, args),
        (reply) => reply[4],
      );
      found.broken.push(...broken);
      found.foreign.push(...foreign);
      found.restored += restored;
      from = next;
    }
    for (let cursor: string | undefined; cursor !== '0'; ) {
      const [next, heads] = await headsIn([...at, keys.paused], [keys.lanePrefix, cursor ?? '0', SLICE, SLICE]);
      found.heads.push(...heads.map(headOf));
      cursor = next;
    }
    await tellLeft(found.foreign);
    return found;
  };
}
