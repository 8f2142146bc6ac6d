import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type EntryId, INBOUND_GROUP, type Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
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

/** Restores pending entries that are in no lane to their place, and finds all heads: slice by slice, each a script. */
export function bindReadmission(redis: RedisClient, keys: Keys): () => Promise<Readmission> {
  const bind = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const readmit = bind<[from: EntryId | '', EntryId[], number, EntryId[]]>('readmit');
  const headsIn = bind<[cursor: string, HeadReply[]]>('heads');
  const at = [keys.inbound, keys.lanes, keys.absent];
  return async () => {
    const found: Readmission = { heads: [], broken: [], restored: 0, foreign: [] };
    for (let from: EntryId | '' | undefined; from !== ''; ) {
      const [next, broken, restored, foreign] = await readmit(at, [INBOUND_GROUP, keys.lanePrefix, SLICE, from ?? '']);
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
    return found;
  };
}
