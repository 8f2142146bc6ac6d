import type { ReachFailpoint } from './failpoint.ts';
import type { Logger } from './log.ts';
import type { Telemetry } from './telemetry.ts';

/** What observes a running program: spans, counts, log lines, and the points at which a test may kill it. */
export interface Instruments {
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}
