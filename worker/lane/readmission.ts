import type { Alert } from '../../shared/flow/alert.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Readmission } from '../../shared/state/lane/lanes.ts';
import { leftLanesAlert } from '../alerts/messages.ts';

/** Longer than a rolling upgrade takes from one process to the next. */
const LEFT_MS = 60_000;

/** Alerts the operator of foreign entries that no later version takes for `leftMs`: nothing else would tell of them. */
export function tellingOfLeft(
  readmit: () => Promise<Readmission>,
  queueAlert: (alert: Alert) => Promise<unknown>,
  leftMs = LEFT_MS,
): () => Promise<Readmission> {
  /** Since when this process has seen each foreign entry, by a clock that never steps, and of how many it has told. */
  let seenMs: ReadonlyMap<EntryId, number> = new Map();
  let told = 0;
  return async () => {
    const found = await readmit();
    const nowMs = performance.now();
    seenMs = new Map(found.foreign.map((entry) => [entry, seenMs.get(entry) ?? nowMs]));
    const left = [...seenMs.values()].filter((sinceMs) => nowMs - sinceMs >= leftMs).length;
    if (left > told) await queueAlert(leftLanesAlert(left));
    told = left;
    return found;
  };
}
