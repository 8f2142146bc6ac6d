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
 * Creates the hook of a process. Without `spec`, the hook does nothing. `spec` (`SPILLWAY_FAIL_AT`) has the form `name:nth`:
 * the process kills itself with SIGKILL when it reaches the step `name` for the nth time. As in a real crash, no cleanup runs.
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
