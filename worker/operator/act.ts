import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { UnknownNameError } from '../../shared/state/lane/dead-letters.ts';
import { type Attribution, actionOf, type OperatorAction, recordAction } from '../../shared/state/process/actions.ts';
import type { ReportContext } from '../report/report.ts';

/** The installation in which an operator's action runs. */
export interface Place extends ReportContext {
  /** Receives a line about each dead letter that an action handles. */
  onPart?: (line: string) => void;
  reach?: ReachFailpoint;
}

/** The message, chat, dead letter or incident that an action changes. */
export interface Subject {
  /** Its name in the record of actions. */
  id: string;
  /** Its name at the beginning of a sentence, such as "Chat 1007". */
  title: string;
  /** The number of dead letters or chats, for a subject that consists of several. */
  count?: number;
}

/** The operator, and the reason for the action. */
interface Actor extends Attribution {
  /** The entry of the message that requests the action, if any. If the message is handled again, the action is a repeat. */
  entry?: EntryId;
}

/** One run of an action. `isRepeat`: there was an earlier run of the same action, which may have done everything already. */
export type Run = Actor & { isRepeat: boolean };

/** The result of an action. */
export interface Result {
  /** The kind of result, for `--json`. */
  kind: string;
  /** `done`: something changed; `none`: no change was necessary; `failed`: the action is impossible. */
  effect: 'done' | 'none' | 'failed';
  /** Text for every surface, without a full stop. */
  text: string;
  /** Further fields of `--json`. */
  details?: Readonly<Record<string, unknown>>;
  /** After a pause or a resume: the chats of the pauses in force that concern the subject; `*` stands for every chat. */
  remainingPauses?: readonly string[];
}

/** A kind of action of operators, such as "pause". The methods reject when Redis cannot be reached. */
export interface Act<S extends Subject = Subject> {
  /** Its name in the record of actions. */
  action: OperatorAction;
  /** A verb, for questions and buttons. */
  label: string;
  /** Finds a subject by its name. Throws `UnknownNameError` unless there is exactly one. Absent if the caller supplies it. */
  find?(at: Place, name: string): Promise<S>;
  /** The warning in the question before the action; `undefined` if the action needs no question. */
  warningFor?(at: Place, subject: S): undefined | string | Promise<string | undefined>;
  /** Changes the subject. Contract: idempotent; if a crash interrupts a run, the next run completes the action. */
  apply(at: Place, subject: S, run: Run): Promise<Result>;
}

/** Records an action, unless an earlier run has recorded it, and then runs it. Rejects when Redis cannot be reached. */
export async function runAct<S extends Subject>(at: Place, act: Act<S>, subject: S, actor: Actor): Promise<Result> {
  const { entry } = actor;
  const earlierRun = entry === undefined ? undefined : await actionOf(at.redis, entry);
  // Use the count of the earlier run, which may have replayed some of the letters before a crash.
  const subjectOfRun = earlierRun?.count === undefined ? subject : { ...subject, count: earlierRun.count };
  if (earlierRun === undefined)
    await recordAction(at.redis, act.action, subject.id, { ...actor, count: subject.count });
  at.reach?.('act recorded');
  const result = await act.apply(at, subjectOfRun, { ...actor, isRepeat: earlierRun !== undefined });
  at.reach?.('act done');
  return result;
}

/** Finds the subject of an action by its name. Throws `UnknownNameError` if `find` does, or if the action has no `find`. */
export async function findFor(at: Place, act: Act, name: string): Promise<Subject> {
  if (act.find === undefined) throw new UnknownNameError(`"${act.label}" cannot be done here.`);
  return act.find(at, name);
}

/** The label of an action with its subject, such as "Pause chat 1007". Pure. */
export function titleOf({ label }: Act, { title }: Subject): string {
  return `${label} ${title.charAt(0).toLowerCase()}${title.slice(1)}`;
}
