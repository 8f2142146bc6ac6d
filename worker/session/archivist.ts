import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { SessionId } from '../../shared/redis/keys.ts';
import { forgetRecordsOlderThan } from '../../shared/state/lane/record-streams.ts';
import { sessionArchives } from '../../shared/state/session/archive.ts';
import { type Archive, createArchive, type SessionSource } from './archive.ts';

export interface ArchivistPorts {
  source: SessionSource;
  /** How long an archive lasts after its last segment, and a closed session after it was archived. */
  retentionDays: number;
  /** How long the ledger and the audit trail are kept. */
  ledgerDays: number;
  log: Logger;
  everyMs: number;
  reach?: ReachFailpoint;
}

export const ARCHIVE_EVERY_MS = 5_000;

const DAY_SECONDS = 24 * 3600;

/**
 * Moves records that left a session's window to its archive, and ends what is kept for a time, at the start and then
 * regularly. A session stays in the
 * set of sessions to visit until nothing more of it can move, so a crash at any point only repeats a visit. Several may
 * run side by side.
 */
export function startArchivist({ source, retentionDays, ledgerDays, log, everyMs, reach }: ArchivistPorts): Service {
  const { redis, keys } = source;
  const { toVisit } = sessionArchives(redis, keys);
  const archive = createArchive(source, retentionDays * DAY_SECONDS, reach);
  return runLoop({
    name: 'archivist',
    async round(signal) {
      for (const session of await toVisit()) await visit(archive, session, log, signal);
      await forgetRecordsOlderThan(redis, keys, ledgerDays);
      return everyMs;
    },
    retryMs: everyMs,
    onError: (error) => log.warn({ err: error }, 'archiving failed; it is tried again'),
  });
}

/** A session that cannot be archived must not keep the others waiting. */
async function visit(archive: Archive, session: SessionId, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const records = await archiveSession(archive, session, signal);
    if (records > 0) log.debug({ session, records }, 'archived');
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, session }, 'a session could not be archived; it is tried again');
  }
}

/**
 * Archives what may leave one session's log, segment by segment, and ends the visit. Returns how many records it moved.
 * When aborted, it stops after the current segment, and does not end the visit.
 */
export async function archiveSession(archive: Archive, session: SessionId, signal: AbortSignal): Promise<number> {
  let records = 0;
  while (!signal.aborted) {
    const plan = await archive.plan(session);
    for (;;) {
      const segment = signal.aborted ? undefined : await archive.nextSegment(session, plan.until);
      if (!segment) break;
      if (await archive.append(segment)) records += segment.records;
    }
    if (signal.aborted || (await archive.release(session, plan))) break;
  }
  return records;
}
