import { utcTime } from '../../shared/base/utc-time.ts';
import { readActions } from '../../shared/state/process/actions.ts';
import { type ReadReport, tableSection } from './report.ts';

const SHOWN_DEFAULT = 50;

/** What operators did, the newest first. */
export const showActions: ReadReport = async ({ redis }, { options }) => {
  const kept = await readActions(redis, Number(options.limit ?? SHOWN_DEFAULT));
  const rows = kept.map(({ atMs, by, deed, target, why }) => [utcTime(atMs), by, deed, target, why || '–']);
  const columns = ['When', 'By', 'Action', 'Of', 'Why'];
  const sections = [tableSection('The newest first', columns, rows, 'No action is on record.')];
  return { report: { title: 'Actions', nowMs: Date.now(), sections }, json: kept };
};
