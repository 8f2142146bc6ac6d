import type { ChatKey, EntryId, Keys } from '../../shared/redis/keys.ts';
import { eventsIn } from '../../shared/state/lane/record-streams.ts';
import { chatName, listSection, messageName, type Report, type ReportSource, shardsOf } from './report.ts';
import { detailsOf } from './timeline.ts';

/** One step by which a request was made to fit, or to be accepted. It holds nothing that anybody wrote. */
export interface RecoveryStep {
  atMs: number;
  chat: ChatKey;
  entry: EntryId;
  traceId: string;
  /** Its name in the audit trail, such as `context.compacted`. */
  event: string;
  /** Its numbers and codes. */
  details: string;
}

const SHOWN_MAX = 50;
/** Calls of the model stand between them. */
const LOOKED_AT_MAX = 5_000;

/** The newest steps of recoveries, the newest first. Contract: as at `ReportSource`. */
export async function readRecoveries(source: ReportSource): Promise<RecoveryStep[]> {
  const all = await Promise.all(shardsOf(source).map((keys) => newestSteps(source, keys)));
  return all
    .flat()
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, SHOWN_MAX);
}

async function newestSteps({ redis }: ReportSource, keys: Keys): Promise<RecoveryStep[]> {
  const found: RecoveryStep[] = [];
  for await (const kept of eventsIn(redis, keys).newest(LOOKED_AT_MAX)) {
    const { event, entry, chat, traceId, atMs, ...about } = kept;
    if (event.startsWith('model.')) continue;
    const names = { chat: chat as ChatKey, entry: entry as EntryId, traceId };
    found.push({ atMs, ...names, event, details: detailsOf(about) });
    if (found.length === SHOWN_MAX) break;
  }
  return found;
}

/** The steps for requests that did not fit or were refused, newest first. Pure. */
export function recoveriesReport(steps: readonly RecoveryStep[], nowMs: number): Report {
  const rows = steps.map(({ atMs, chat, entry, event, details }) => [
    { atMs },
    event,
    details,
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
