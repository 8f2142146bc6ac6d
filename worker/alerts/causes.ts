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

/** All causes of incidents. The installation has at most one open incident for each cause and key. */
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

/** The row of a cause, with the overrides that the row has for the given level, if any. */
export function rowAt({ cause, level }: { cause: Cause; level: string }): CauseRow {
  const { levels = {}, ...row } = CAUSES[cause];
  return Object.hasOwn(levels, level) ? { ...row, ...levels[level] } : row;
}

/** The actions that the buttons of a cause's incidents offer, the likeliest first. */
export function actsFor(cause: Cause): readonly ActName[] {
  const { acts, endsBy } = CAUSES[cause];
  return acts ?? (endsBy === 'watch' ? [] : ['close']);
}

/** The severity of a cause at a level; `attention` for a cause that this version does not know. */
export function severityOf({ cause, level = '' }: { cause: string; level?: string | undefined }): Severity {
  return rowOf(cause) === undefined ? 'attention' : rowAt({ cause: cause as Cause, level }).severity;
}

/** The name of each severity, the coloured dot before the name in messages, and the colour in reports. */
export const SEVERITIES = {
  page: { words: 'Page', mark: '🔴', tone: 'bad' },
  attention: { words: 'Needs attention', mark: '🟡', tone: 'fair' },
  info: { words: 'Info', mark: '⚪️', tone: 'plain' },
} as const satisfies Record<Severity, object>;

/** The beginning of an alert's title: the coloured dot and the name of the severity. */
export function markOf(severity: Severity): string {
  const { mark, words } = SEVERITIES[severity];
  return `${mark} ${words}`;
}

/** Whether the first severity is at least as grave as the second. */
export function isAtLeast(one: Severity, other: Severity): boolean {
  const order: readonly Severity[] = ['info', 'attention', 'page'];
  return order.indexOf(one) >= order.indexOf(other);
}
