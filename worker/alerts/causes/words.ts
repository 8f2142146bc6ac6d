import type { Alert, Cause, Severity } from '../../../shared/flow/alert.ts';

/** Texts of messages about incidents, besides the text of the alert itself. */
export const ALERT_WORDS = {
  /** Texts of alerts that each process sends for itself, without the book of incidents. */
  redisWrites: { title: 'Messages are not accepted: Redis takes no writes', over: 'Redis takes writes again' },
  watchdog: {
    title: 'Some trouble may go unnoticed: the watchdog of a process fails',
    over: 'the watchdog works again',
  },
  resolved: 'Resolved',
  closedBy: (by: string) => `closed by ${by}.`,
  more: (more: number) => `… and ${more} more, each in the log`,

  done: (result: string, by: string, at: string) => `${result} · by ${by}, ${at}`,
  links: { trace: 'Trace', runbook: 'Runbook', console: 'Console' },
  /** Labels of the action buttons under a message about an incident. */
  acts: {
    /** Replays the messages that failed during the incident. */
    replay: 'Replay failed',
    /** Replays messages whose answer is finished and only has to be delivered. */
    deliver: 'Deliver again',
    /** Retries the oldest waiting message. */
    retry: 'Try again now',
    /** Probes the endpoint. If the endpoint answers, retries all delayed messages. */
    probe: 'Try again now',
    /** Retries all delayed messages. */
    promote: 'Try again now',
    /** Pauses the chat of the oldest waiting message; the label ends with the chat's name. */
    pause: 'Pause chat',
    'pause-all': 'Pause every chat',
    /** Ends every pause. */
    'resume-all': 'Resume',
    /** Cancels the oldest waiting message. */
    cancel: 'Cancel message',
    allow: 'Allow',
    ignore: 'Ignore',
    close: 'Close',
  },
};

/** The name of an action that a button in a message about an incident offers. */
export type ActName = keyof (typeof ALERT_WORDS)['acts'];

/** The behaviour of incidents of one cause, and their texts. */
export interface CauseRow {
  severity: Severity;
  /** The incident in a few words. */
  title: string;
  /** Advice to the operator; absent if the alert's text already has it. */
  todo?: string;
  /**
   * The event that ends an incident, unless an operator closes it. `watch`: a check no longer finds the condition. `alert`: an
   * alert reports the end. `quiet`: no occurrence for a while. `fact`: none; removed a week after the last occurrence.
   */
  endsBy: 'watch' | 'alert' | 'quiet' | 'fact';
  /** Text of the end, after "Resolved:"; absent for a fact. */
  end?: string;
  /** Causes that may explain incidents of this cause. An explained incident gets no message of its own. */
  follows?: readonly Cause[];
  /**
   * Actions on the buttons, the likeliest first; at most six, so that a phone shows them all. Default: none for
   * `endsBy: 'watch'`, otherwise `close`.
   */
  acts?: readonly ActName[];
  /** Whether the message lists each occurrence, e.g. because an operator should look at each of them. */
  namesEach?: true;
  /** Overrides by the level of the trouble; a level without an entry changes nothing. */
  levels?: Readonly<Record<string, Partial<Pick<CauseRow, 'severity' | 'title' | 'todo' | 'follows'>>>>;
}

/** Rows of some causes. */
export type Rules = Readonly<Partial<Record<Cause, CauseRow>>>;

/** A lasting condition that a check found. The counts are as of that check. */
export interface Condition extends Alert {
  messages?: number;
  chats?: number;
  /** When the trouble itself began, by Redis' clock; absent if unknown. */
  sinceMs?: number;
}
