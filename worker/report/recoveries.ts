import type { Keys } from '../../shared/redis/keys.ts';
import { eventsIn, type KeptEvent } from '../../shared/state/lane/record-streams.ts';
import { chatName, listSection, messageName, type Report, type ReportSource, shardsOf } from './report.ts';
import { detailsOf } from './timeline.ts';

const SHOWN_MAX = 50;
/** Calls of the model stand between them. */
const LOOKED_AT_MAX = 5_000;

/** The newest steps by which a request was made to fit, or to be accepted, newest first. Contract: as at `ReportSource`. */
export async function readRecoveries(source: ReportSource): Promise<KeptEvent[]> {
  const all = await Promise.all(shardsOf(source).map((keys) => newestSteps(source, keys)));
  return all
    .flat()
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, SHOWN_MAX);
}

async function newestSteps({ redis }: ReportSource, keys: Keys): Promise<KeptEvent[]> {
  const found: KeptEvent[] = [];
  for await (const kept of eventsIn(redis, keys).newest(LOOKED_AT_MAX)) {
    if (kept.event.startsWith('model.')) continue;
    found.push(kept);
    if (found.length === SHOWN_MAX) break;
  }
  return found;
}

/** The steps for requests that did not fit or were refused, newest first. Pure. */
export function recoveriesReport(steps: readonly KeptEvent[], nowMs: number): Report {
  const rows = steps.map(({ atMs, chat, entry, event, traceId: _, ...about }) => [
    { atMs },
    event,
    detailsOf(about),
    chatName(chat),
    messageName(entry),
  ]);
  const table = { columns: ['When', 'Step', 'Details', 'Chat', 'Message'], rows };
  return {
    title: 'Recoveries',
    nowMs,
    sections: [
      listSection('Requests that did not fit or were refused, and what was done', { table }, 'None on record.'),
    ],
  };
}
