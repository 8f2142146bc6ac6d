/** The steps of the flow at which a fault-injection test can kill the process; the design's own verbs. */
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

/** Called at each named step. In production it does nothing. */
export type ReachFailpoint = (step: Failpoint) => void;

/**
 * Makes the hook of a process. `spec` is `name:nth` (from `SPILLWAY_FAIL_AT`): the process kills itself with SIGKILL
 * when it reaches that step for the nth time, so that nothing can clean up, as in a real crash.
 */
export function createFailpoints(spec: string | undefined): ReachFailpoint {
  if (spec === undefined) return () => {};
  const [name, nth] = spec.split(':');
  let left = Number(nth);
  return (step) => {
    if (step !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
}
