import { keysOf } from '../../shared/redis/keys.ts';
import { addOrder, endOrder } from '../../shared/state/orders.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import type { ReportSource } from '../report/report.ts';

/**
 * Lets a person or a group in, or out again, within a second and without a restart. The ids of the settings are in all
 * the same. Returns false where it was so before. Contract: rejects when Redis cannot be reached. Idempotent.
 */
export async function allow(
  { redis }: Pick<ReportSource, 'redis'>,
  id: string,
  isIn: boolean,
  attribution: Attribution,
): Promise<boolean> {
  const { allowed } = keysOf(0);
  await recordAction(redis, isIn ? 'allow' : 'disallow', id, attribution);
  if (!isIn) return endOrder(redis, allowed, id);
  return addOrder(redis, allowed, { chat: id, sinceMs: await serverTimeMs(redis), ...attribution });
}
