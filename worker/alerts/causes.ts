import type { Cause, Severity } from '../../shared/flow/alert.ts';
import type { ActName } from './causes/acts.ts';
import { BUDGET } from './causes/budget.ts';
import { ENDPOINT } from './causes/endpoint.ts';
import { RECEIVING } from './causes/receiving.ts';
import { SESSION } from './causes/session.ts';
import { STORAGE } from './causes/storage.ts';
import { TELEGRAM } from './causes/telegram.ts';
import { TOOLS } from './causes/tools.ts';
import { UNANSWERED } from './causes/unanswered.ts';
import { WATCH } from './causes/watch.ts';
import { ALERT_WORDS } from './causes/words.ts';

/** How an incident behaves at one level. */
export interface LevelRule {
  /** Trouble of its own: after that of another level it is new, and nothing that is back. */
  isOwn?: true;
  acts?: readonly ActName[];
}

/** How incidents of a cause behave. */
export interface CauseRule {
  severity: Severity;
  /** What can be done at those levels of the trouble at which that is something else. */
  levels?: Readonly<Record<string, LevelRule>>;
  /**
   * What ends it: the `watch` sees that its condition is gone; an alert says so (`alert`); no further occurrence for a
   * while (`quiet`); nothing can (`fact`): it stays true, so it is forgotten silently.
   */
  endsBy: 'watch' | 'alert' | 'quiet' | 'fact';
  /** Whether each occurrence is named and not only counted: only the operator is notified of it, or it cost a history. */
  namesEach?: true;
  /** The least time between two notices of one incident, in ms, where somebody else decides how often it changes. */
  gapMs?: number;
  /** Whether it tells of what is to come: then nothing is wrong yet, and the operator is not reminded of it. */
  isAhead?: true;
  /**
   * What operators may do about it by a button, the likeliest first: six at most, so that a phone shows them all. Where
   * nothing is stated, an incident can be closed that the watch does not end.
   */
  acts?: readonly ActName[];
}

/** Rules of some causes. */
export type Rules = Readonly<Partial<Record<Cause, CauseRule>>>;

/** The causes of incidents: one incident at a time for each cause and key, for the whole installation. */
export const CAUSES: Readonly<Record<Cause, CauseRule>> = {
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

/** How incidents of a cause behave; `undefined` for one that this version does not know. */
export function ruleOf(cause: string): CauseRule | undefined {
  return Object.hasOwn(CAUSES, cause) ? CAUSES[cause as Cause] : undefined;
}

/** What an incident is in a few words, and what to do about it, at the level of its trouble. */
export function wordsOf({ cause, level }: { cause: Cause; level: string }): Record<'title' | 'todo', string> {
  const { title, todo, levels } = ALERT_WORDS;
  const ofLevels = Object.entries(cause === 'provider' ? levels.provider : {});
  return ofLevels.find(([name]) => name === level)?.[1] ?? { title: title[cause], todo: todo[cause] };
}

/** Whether trouble at one level is none that returns after trouble at the other. */
export function isOfAnotherKind(cause: Cause, level: string, before: string): boolean {
  const { levels = {} } = CAUSES[cause];
  return level !== before && [level, before].some((each) => Object.hasOwn(levels, each) && levels[each]?.isOwn);
}

/** What operators may do about an incident by a button, the likeliest first. */
export function actsFor({ cause, level }: { cause: Cause; level: string }): readonly ActName[] {
  const { levels = {}, endsBy, acts = endsBy === 'watch' ? [] : ['close'] } = CAUSES[cause];
  return (Object.hasOwn(levels, level) ? levels[level]?.acts : undefined) ?? acts;
}

/** How severe a cause is. The severity of a cause that only another version knows is not known: somebody looks at it. */
export function severityOf(cause: string): Severity {
  return ruleOf(cause)?.severity ?? 'attention';
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
