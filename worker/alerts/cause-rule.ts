/** Whom an incident concerns, as the runbook has it: it wakes somebody, is for working hours, or needs nothing. */
export type Severity = 'page' | 'today' | 'note';

/** How incidents of a cause behave. */
export interface CauseRule {
  severity: Severity;
  /** The incident in a few words, for lists and for later notices. */
  title: string;
  /** What the operator does about it. */
  todo: string;
  /** The end: what is said once things are well again. A `fact` stays true, so it is forgotten silently. */
  over: string;
  /**
   * What ends it: the `watch` sees that its condition is gone; an alert says so (`alert`); no further occurrence for a
   * while (`quiet`); nothing can (`fact`).
   */
  endsBy: 'watch' | 'alert' | 'quiet' | 'fact';
  /** Whether each occurrence is named and not only counted: only the operator is notified of it, or it cost a history. */
  namesEach?: true;
  /** The least time between two notices of one incident, in ms, where somebody else decides how often it changes. */
  gapMs?: number;
  /** Whether it tells of what is to come: then nothing is wrong yet, and the operator is not reminded of it. */
  isAhead?: true;
}
