import type { Cause, Severity } from '../../shared/flow/alert.ts';
import { BUDGET } from './causes/budget.ts';
import { ENDPOINT } from './causes/endpoint.ts';
import { RECEIVING } from './causes/receiving.ts';
import { SESSION } from './causes/session.ts';
import { STORAGE } from './causes/storage.ts';
import { TELEGRAM } from './causes/telegram.ts';
import { TOOLS } from './causes/tools.ts';
import { UNANSWERED } from './causes/unanswered.ts';
import { WATCH } from './causes/watch.ts';
import type { ActName, CauseRow } from './causes/words.ts';

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
