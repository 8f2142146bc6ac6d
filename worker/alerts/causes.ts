import type { Cause, Severity } from '../../shared/flow/alert.ts';
import type { ActName } from './act.ts';
import { BUDGET } from './causes/budget.ts';
import { ENDPOINT } from './causes/endpoint.ts';
import { RECEIVING } from './causes/receiving.ts';
import { SESSION } from './causes/session.ts';
import { STORAGE } from './causes/storage.ts';
import { TELEGRAM } from './causes/telegram.ts';
import { TOOLS } from './causes/tools.ts';
import { UNANSWERED } from './causes/unanswered.ts';
import { WATCH } from './causes/watch.ts';

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

/** The causes of incidents: one incident at a time for each cause and key, for the whole installation. */
export const CAUSES: Readonly<Record<Cause, CauseRow>> = {
  ...BUDGET,
  ...ENDPOINT,
  ...RECEIVING,
  ...SESSION,
  ...STORAGE,
  ...TELEGRAM,
  ...TOOLS,
  ...UNANSWERED,
  ...WATCH,
};

/** The row of a cause; `undefined` for a cause that this version does not know. */
export function rowOf(cause: string): CauseRow | undefined {
  return Object.hasOwn(CAUSES, cause) ? CAUSES[cause as Cause] : undefined;
}

/** The row of a cause as it is at a level of the trouble. */
export function rowAt({ cause, level }: { cause: Cause; level: string }): CauseRow {
  const { levels = {}, ...row } = CAUSES[cause];
  return Object.hasOwn(levels, level) ? { ...row, ...levels[level] } : row;
}

/** What operators may do about an incident of a cause by a button, the likeliest first. */
export function actsFor(cause: Cause): readonly ActName[] {
  const { acts, endsBy } = CAUSES[cause];
  return acts ?? (endsBy === 'watch' ? [] : ['close']);
}

/** How severe a cause is. The severity of a cause that only another version knows is not known: somebody looks at it. */
export function severityOf({ cause, level = '' }: { cause: string; level?: string | undefined }): Severity {
  return rowOf(cause) === undefined ? 'attention' : rowAt({ cause: cause as Cause, level }).severity;
}

/** The look of each severity, the same on every surface: its words, its mark in a chat, and its tone on a page. */
export const SEVERITIES = {
  page: { words: 'Page', mark: '🔴', tone: 'bad' },
  attention: { words: 'Needs attention', mark: '🟡', tone: 'fair' },
  info: { words: 'Info', mark: '⚪️', tone: 'plain' },
} as const satisfies Record<Severity, object>;

/** A severity as a title begins with it. */
export function markOf(severity: Severity): string {
  const { mark, words } = SEVERITIES[severity];
  return `${mark} ${words}`;
}

/** Whether one severity is as grave as another, or graver. */
export function isAtLeast(one: Severity, other: Severity): boolean {
  const order: readonly Severity[] = ['info', 'attention', 'page'];
  return order.indexOf(one) >= order.indexOf(other);
}
