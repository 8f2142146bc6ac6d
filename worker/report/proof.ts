import { counted } from '../../shared/base/text.ts';
import { type Balance, createLedger } from '../../shared/state/lane/ledger.ts';
import { sum } from '../watch/snapshot.ts';
import { type ReportSource, shardsOf } from './report.ts';

/** The sums of all shards' ledger counts. If the counts of each single shard add up, no message was lost. */
export interface Proof extends Balance {
  isCounted: boolean;
  /** The shards whose counts do not add up. The totals may hide such shards: one shard's surplus may equal another's loss. */
  failedShards: number[];
}

export async function readProof(source: ReportSource): Promise<Proof> {
  const all = await Promise.all(shardsOf(source).map((keys) => createLedger(source.redis, keys).read()));
  const total = (name: keyof Balance) => sum(all, (reading) => reading[name]);
  return {
    accepted: total('accepted'),
    settled: total('settled'),
    pending: total('pending'),
    unaccounted: total('unaccounted'),
    isCounted: all.every(({ isCounted }) => isCounted),
    failedShards: all.flatMap(({ unaccounted }, shard) => (unaccounted === 0 ? [] : [shard])),
  };
}

/** Names the shards whose ledger counts do not add up; `undefined` if every shard's counts do. Pure. */
export function imbalanceOf({ unaccounted, failedShards }: Proof): string | undefined {
  if (failedShards.length === 0) return undefined;
  const shards = `(shard ${failedShards.join(', ')})`;
  if (unaccounted === 0) return `${failedShards.length} shards do not add up, although their sum does ${shards}`;
  const what = unaccounted < 0 ? 'came in uncounted' : 'got no outcome';
  return `${counted(Math.abs(unaccounted), 'message')} ${what} ${shards}`;
}
