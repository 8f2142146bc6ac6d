/** The texts around the message about an incident. The alert itself says what happened. */
export const ALERT_WORDS = {
  /** Alerts of a single process. */
  redisWrites: { title: 'Redis takes no writes', over: 'Redis takes writes again' },
  watchdog: { title: 'The watchdog of a process fails', over: 'the watchdog looks again' },
  resolved: 'Resolved',
  closedBy: (by: string) => `closed by ${by}.`,
  more: (more: number) => `… and ${more} more, each in the log`,

  done: (result: string, by: string, at: string) => `${result} · by ${by}, ${at}`,
  links: { trace: 'Trace', runbook: 'Runbook', console: 'Console' },
  /** What operators may do about an incident by a button under its message, and what stands on the button. */
  acts: {
    /** Puts back what has failed since the incident began. */
    replay: 'Replay failed',
    /** The same, where answers were finished and are only delivered. */
    deliver: 'Deliver again',
    /** Tries the message that has waited longest. */
    retry: 'Try again now',
    /** Asks the endpoint whether it answers, and tries what waits. */
    probe: 'Try again now',
    /** Tries all that waits. */
    promote: 'Try again now',
    /** The chat of the message that has waited longest, whose name follows. */
    pause: 'Pause chat',
    'pause-all': 'Pause every chat',
    /** Ends every pause. */
    'resume-all': 'Resume',
    /** The message that has waited longest. */
    cancel: 'Cancel message',
    close: 'Close',
  },
};
