import type { ChatKey, EntryId } from '../../shared/redis/keys.ts';
import { newestRecords } from './records.ts';
import { type ReportSource, shardsOf } from './source.ts';
import { detailsOf, type KeptEvent } from './timeline.ts';

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
  const all = await Promise.all(shardsOf(source).map((keys) => newestSteps(source, keys.events)));
  return all
    .flat()
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, SHOWN_MAX);
}

async function newestSteps({ redis }: ReportSource, stream: string): Promise<RecoveryStep[]> {
  const found: RecoveryStep[] = [];
  for await (const { event, entry, chat, traceId, atMs, ...about } of newestRecords<KeptEvent>(
    redis,
    stream,
    LOOKED_AT_MAX,
  )) {
    if (event.startsWith('model.')) continue;
    const names = { chat: chat as ChatKey, entry: entry as EntryId, traceId };
    found.push({ atMs, ...names, event, details: detailsOf(about) });
    if (found.length === SHOWN_MAX) break;
  }
  return found;
}
