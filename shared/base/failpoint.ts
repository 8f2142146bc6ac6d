/** The steps at which a fault-injection test can kill the process. */
export type Failpoint =
  | 'update received'
  | 'accepted'
  | 'summons answered'
  | 'summons noted'
  | 'confirmed'
  | 'admitted'
  | 'job added'
  | 'attempt begun'
  | 'model called'
  | 'answer streaming'
  | 'round stored'
  | 'tool called'
  | 'tool result stored'
  | 'results stored'
  | 'parked'
  | 'question shown'
  | 'question decided'
  | 'act recorded'
  | 'act done'
  | 'act noted'
  | 'summary part stored'
  | 'compaction stored'
  | 'fresh session stored'
  | 'moved to wait'
  | 'answer stored'
  | 'part sent'
  | 'part marked'
  | 'file stored'
  | 'references erased'
  | 'segment stored'
  | 'settled'
  | 'next added';

/** The hook that the process calls when it reaches a step. Does nothing in production. */
export type ReachFailpoint = (step: Failpoint) => void;

/**
 * Creates the hook of a process; without `spec` it does nothing. `spec` has the form `name:nth` (`SPILLWAY_FAIL_AT`): the
 * process kills itself with SIGKILL when it reaches that step for the nth time, so that no cleanup runs, as in a real crash.
 */
export function createFailpoints(spec: string | undefined): ReachFailpoint {
  if (spec === undefined) return () => {};
  const [name, nth] = spec.split(':');
  let remaining = Number(nth);
  return (step) => {
    if (step !== name) return;
    remaining -= 1;
    if (remaining === 0) process.kill(process.pid, 'SIGKILL');
  };
}
