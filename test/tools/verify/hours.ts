import { FAILURE_HOURS } from './failure-hours.ts';
import type { Hour } from './hour.ts';
import { PROCESS_HOURS } from './process-hours.ts';
import { QUIET_HOURS } from './quiet-hours.ts';
import { RECOVERY_HOURS } from './recovery-hours.ts';

/** The day, in order. */
export const HOURS: readonly Hour[] = [...QUIET_HOURS, ...RECOVERY_HOURS, ...FAILURE_HOURS, ...PROCESS_HOURS];
