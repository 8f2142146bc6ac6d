import type { ReachFailpoint } from './failpoint.ts';
import type { Logger } from './log.ts';
import type { Telemetry } from './telemetry.ts';

/** Spans, counts and log lines of a running program, and the points at which a test may kill it. */
export interface Observability {
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}
