import type { Room } from '../model/room.ts';
import { type LogRecord, startsTurn, type TrimRecord } from '../session/record.ts';
import type { Window } from '../session/view.ts';
import { progressOf } from './compact.ts';
import { trimOf } from './effects.ts';

/** A mask that makes a summary unnecessary. */
export interface Mask {
  /** The mask, and the thinking that is omitted with it. */
  trims: readonly TrimRecord[];
  tokensBefore: number;
  tokensAfter: number;
}

/** The newest turns, the pending one included, whose results stay whole if that suffices. */
const TURNS_WHOLE = 2;

/**
 * The smallest mask of old tool results that is enough progress by itself: first all turns but the newest, then
 * everything but the newest round of tools. `thinking` is omitted along with a mask. Makes no model call. Pure except
 * for the record's timestamp.
 */
export function maskResults(before: Window, room: Room, thinking: readonly TrimRecord[]): Mask | undefined {
  const { records } = before;
  for (const trim of [trimBefore(records, recentTurns(records)), trimOldRounds(records)]) {
    if (trim === undefined) continue;
    const trims = [trim, ...thinking];
    const progress = progressOf(before, { ...before, records: [...records, ...trims] }, room);
    if (progress) return { trims, ...progress };
  }
  return undefined;
}

/** The strongest mask: everything but the newest round of tools. */
export function trimOldRounds(records: readonly LogRecord[]): TrimRecord | undefined {
  const newest = records.findLastIndex((record) => record.t === 'user' && !startsTurn(record));
  const turn = records.findLastIndex(startsTurn);
  return trimBefore(records, Math.max(newest, turn));
}

function recentTurns(records: readonly LogRecord[]): number {
  const turns = records.flatMap((record, index) => (startsTurn(record) ? [index] : []));
  return turns.at(-TURNS_WHOLE) ?? 0;
}

function trimBefore(records: readonly LogRecord[], end: number): TrimRecord | undefined {
  return end > 0 ? trimOf('results', records.slice(0, end)) : undefined;
}
