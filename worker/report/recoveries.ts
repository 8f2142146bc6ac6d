import type { Keys } from '../../shared/redis/keys.ts';
import { eventsIn, type KeptEvent } from '../../shared/state/lane/record-streams.ts';
import { chatName, messageName, type ReadReport, type ReportSource, shardsOf, tableSection } from './report.ts';
import { detailsOf } from './timeline.ts';

const SHOWN_MAX = 50;
/** Calls of the model stand between them. */
const LOOKED_AT_MAX = 5_000;

/** The newest steps by which a request was made to fit, or to be accepted, newest first. */
export const showRecoveries: ReadReport = async (at) => {
  const all = await Promise.all(shardsOf(at).map((keys) => newestSteps(at, keys)));
  const steps = all
    .flat()
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, SHOWN_MAX);
  const rows = steps.map(({ atMs, chat, entry, event, traceId: _, ...about }) => [
    { atMs },
    event,
    detailsOf(about),
    chatName(chat),
    messageName(entry),
  ]);
  const title = 'Requests that did not fit or were refused, and what was done';
  const columns = ['When', 'Step', 'Details', 'Chat', 'Message'];
  const sections = [tableSection(title, columns, rows, 'None on record.')];
  return { report: { title: 'Recoveries', nowMs: Date.now(), sections }, json: steps };
};

async function newestSteps({ redis }: ReportSource, keys: Keys): Promise<KeptEvent[]> {
  const found: KeptEvent[] = [];
  for await (const kept of eventsIn(redis, keys).newest(LOOKED_AT_MAX)) {
    if (!kept.event.startsWith('model.')) found.push(kept);
    if (found.length === SHOWN_MAX) break;
  }
  return found;
}
