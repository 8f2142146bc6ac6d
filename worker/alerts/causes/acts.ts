/** What operators may do about an incident by a button under its message, and what stands on the button. */
const LABELS = {
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
  /** The chat of the message that has waited longest. */
  pause: 'Pause chat',
  'pause-all': 'Pause every chat',
  resume: 'Resume',
  /** The message that has waited longest. */
  cancel: 'Cancel message',
  take: 'Take',
  snooze: 'Snooze 1 h',
  morning: 'Until morning',
  close: 'Close',
} as const;

export type ActName = keyof typeof LABELS;

/** Who works on it, and when it may ring again: what fits every incident that somebody has to look at. */
export const ATTEND = ['take', 'snooze', 'morning'] as const satisfies readonly ActName[];

/** What stands on the button of an act; `chat` is the one that it is about, where it is about one. */
export function labelOf(name: ActName, chat = ''): string {
  return name === 'pause' ? `${LABELS.pause} ${chat}` : LABELS[name];
}

/** Whether this version knows an act. */
export function isAct(name: string): name is ActName {
  return Object.hasOwn(LABELS, name);
}
