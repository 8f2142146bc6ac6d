import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { UnknownNameError } from '../../shared/state/lane/dead-letters.ts';
import { type Attribution, actionOf, type OperatorAction, recordAction } from '../../shared/state/process/actions.ts';
import type { ReportSource } from '../report/report.ts';

/** The installation in which an act is carried out. */
export interface Place extends ReportSource {
  /** Receives a line about each letter of an act on many. */
  onPart?: (line: string) => void;
  reach?: ReachFailpoint;
}

/** The message, chat, letter or incident that an act changes. */
export interface Subject {
  /** Its name in the trail. */
  id: string;
  /** Its name for the beginning of a sentence. */
  called: string;
  /** The number of letters or chats, if the subject is many of them. */
  count?: number;
}

/** The operator who acts, and the reason. */
interface Actor extends Attribution {
  /** The message that asks for the act. If the message runs again after a crash, it is the same act. */
  entry?: EntryId;
}

/** One run of an act; `isRepeat`: an earlier run of the same act was cut by a crash, and may have done all of it. */
export type Run = Actor & { isRepeat: boolean };

/** How an act went. */
export interface Result {
  /** For `--json`. */
  kind: string;
  /** `done`: something changed; `none`: it was so already; `failed`: it cannot be done. */
  effect: 'done' | 'none' | 'failed';
  /** The same words on every surface, without a full stop. */
  text: string;
  /** Further fields of `--json`. */
  details?: Readonly<Record<string, unknown>>;
  /** After a pause or a resume: the pauses that hold something now. */
  left?: readonly string[];
}

/** An act of an operator. The methods reject when Redis cannot be reached. */
export interface Act<S extends Subject = Subject> {
  /** Its name in the trail. */
  deed: OperatorAction;
  /** A verb, for questions and buttons. */
  label: string;
  /** Finds the subject that a text names. Throws `UnknownNameError`. Absent if a text cannot name the subject. */
  find?(at: Place, name: string): Promise<S>;
  /** The warning before a "yes". Without one, the act needs no question. */
  asks?(at: Place, subject: S): undefined | string | Promise<string | undefined>;
  /** Does it. Contract: idempotent; a run that is cut is completed by the next one. */
  does(at: Place, subject: S, run: Run): Promise<Result>;
}

/** Records an act in the trail, unless an earlier run has done so, and carries it out. Rejects when Redis cannot be reached. */
export async function runAct<S extends Subject>(at: Place, act: Act<S>, subject: S, actor: Actor): Promise<Result> {
  const { entry } = actor;
  const earlierRun = entry === undefined ? undefined : await actionOf(at.redis, entry);
  // A repeat counts as many letters as the run that was cut, which may have put some of them back.
  const about = earlierRun?.count === undefined ? subject : { ...subject, count: earlierRun.count };
  if (earlierRun === undefined) await recordAction(at.redis, act.deed, subject.id, { ...actor, count: subject.count });
  at.reach?.('act recorded');
  const result = await act.does(at, about, { ...actor, isRepeat: earlierRun !== undefined });
  at.reach?.('act done');
  return result;
}

/** Finds the subject of an act by its name. Throws `UnknownNameError`, whose message says what to do. */
export async function findFor(at: Place, act: Act, name: string): Promise<Subject> {
  if (act.find === undefined) throw new UnknownNameError(`"${act.label}" cannot be done here.`);
  return act.find(at, name);
}

/** An act and its subject, such as "Pause chat 1007". Pure. */
export function titleOf({ label }: Act, { called }: Subject): string {
  return `${label} ${called.charAt(0).toLowerCase()}${called.slice(1)}`;
}
