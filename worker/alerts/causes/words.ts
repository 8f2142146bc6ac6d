import type { Alert, Cause, Severity } from '../../../shared/flow/alert.ts';
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

/** An act that operators may do about an incident by a button. */
export type ActName = keyof (typeof ALERT_WORDS)['acts'];

/** How incidents of a cause behave, and what operators read about them. */
export interface CauseRow {
  severity: Severity;
  /** The incident in a few words. */
  title: string;
  /** What the operator does about it; empty where the incident says it itself. */
  todo?: string;
  /**
   * What ends it: the `watch` sees that its condition is gone; an alert says so (`alert`); no further occurrence for a
   * while (`quiet`); nothing can (`fact`): it stays true, so it is forgotten silently.
   */
  endsBy: 'watch' | 'alert' | 'quiet' | 'fact';
  /** How its end reads, behind "Resolved:"; absent for a fact, and where the alert that ends it says it. */
  end?: string;
  /** The causes that it follows from: while an incident of one of these is open, it is a line in the message about that. */
  follows?: readonly Cause[];
  /**
   * What operators may do about it by a button, the likeliest first: six at most, so that a phone shows them all. Where
   * nothing is stated, an incident can be closed that the watch does not end.
   */
  acts?: readonly ActName[];
  /** Whether its message names each occurrence: the user was not notified, or a conversation was left. */
  namesEach?: true;
  /** What differs at a level of the trouble. */
  levels?: Readonly<Record<string, Partial<Pick<CauseRow, 'severity' | 'title' | 'todo' | 'follows'>>>>;
}

/** Rows of some causes. */
export type Rules = Readonly<Partial<Record<Cause, CauseRow>>>;

/** A lasting condition. Counts are current values. */
export interface Condition extends Alert {
  messages?: number;
  chats?: number;
  /** When it really began, by Redis' clock; absent when unknown. */
  sinceMs?: number;
}
