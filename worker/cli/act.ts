import type { LetterFilter } from '../../shared/state/lane/letter-list.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { type Act, findFor, type Result, runAct, type Subject } from '../operator/act.ts';
import { ACTS } from '../operator/acts.ts';
import { findLetterSubject, findSomeone, selectLetters } from '../operator/subjects.ts';
import { filterOf } from '../report/arguments.ts';
import type { ReportContext } from '../report/report.ts';
import { UsageError } from './terminal.ts';
import { type Call, type RunVerb, show, withRedis } from './verb.ts';

const DAY_MS = 24 * 3600_000;

/** Cancels one message, or all messages of a chat. */
export const cancel = verbOf(ACTS.cancel, ([target], { kind }) => ({ target, result: kind }));

export const retry = verbOf(ACTS.retry, (_, { kind, details }, { id }) => ({ entry: id, kind, ...details }));

export const pause = verbOf(ACTS.pause, (_, { kind }, { id }) => ({ chat: id, result: kind }));

export const resume = verbOf(ACTS.resume, (_, { kind }, { id }) => ({ chat: id, result: kind }));

/**
 * Allows a person or a group, removes it, or prints the allowed ids and the open requests. With `--remove`, the exit code is 1 if the id had not been added, or if
 * the settings still allow it.
 */
export async function allow(call: Call): Promise<number> {
  const { options, terminal, words } = call;
  const isAllowing = options.remove === undefined;
  const [name] = words;
  if (!isAllowing && name === undefined) throw new UsageError(`--remove needs an id.\n\n${call.help}`);
  if (name === undefined) return show('allow', call);
  return withRedis(terminal, async (context) => {
    const subject = await findSomeone(context, name);
    const result = await runFromTerminal(call, context, isAllowing ? ACTS.allow : ACTS.disallow, subject);
    const isDone = result.kind === 'allowed' || result.kind === 'removed';
    const { id, isSet } = subject;
    call.print({ id: Number(id), isIn: isAllowing, isSet, isDone }, () => `${result.text}.`);
    return result.effect === 'failed' ? 1 : 0;
  });
}

/** Replays dead letters. The exit code is 1 if one of them names no chat, and so cannot be replayed. */
export async function replay(call: Call): Promise<number> {
  const { options, words } = call;
  if ((words.length === 0) === (options.all === undefined)) throw new UsageError(call.help);
  return runOnLetters(call, ACTS.replay, { withoutDesk: true });
}

export async function purge(call: Call): Promise<number> {
  const { options, words } = call;
  const selections = [words.length > 0, options.before !== undefined, options.all !== undefined].filter(Boolean);
  if (selections.length !== 1) throw new UsageError(call.help);
  if (options.all && !options.yes) throw new UsageError('purge --all removes every dead letter for good: add --yes.');
  const extraFilter = options.before ? { untilMs: Date.now() - Number(options.before) * DAY_MS } : {};
  return runOnLetters(call, ACTS.purge, extraFilter);
}

/** Runs an action on the named dead letter, or on all dead letters that match the filters. */
async function runOnLetters(call: Call, act: typeof ACTS.purge, extraFilter: LetterFilter): Promise<number> {
  const [id] = call.words;
  const filter = filterOf(call.options, Date.now());
  // A call that names a dead letter must not have filters.
  if (id !== undefined && Object.keys(filter).length > 0) throw new UsageError(call.help);
  return withRedis(call.terminal, async (context) => {
    const subject =
      id === undefined
        ? await selectLetters(context, { ...filter, ...extraFilter })
        : await findLetterSubject(context, id);
    const { text, details = {} } = await runFromTerminal(call, context, act, subject);
    call.print(details, () => `${text}.`);
    return Number(details.chatless) > 0 ? 1 : 0;
  });
}

/** A verb that runs an action on the subject that its first word names, or on every chat. Exit code 1: the action failed. */
function verbOf(act: Act, jsonOf: (words: readonly string[], result: Result, subject: Subject) => object): RunVerb {
  return (call) =>
    withRedis(call.terminal, async (context) => {
      const subject = await findFor(context, act, call.words[0] ?? EVERY_CHAT);
      const result = await runFromTerminal(call, context, act, subject);
      call.print(jsonOf(call.words, result, subject), () => `${result.text}.`);
      return result.effect === 'failed' ? 1 : 0;
    });
}

/** Runs an action from the terminal. Prints a line for each dead letter that the action handles, unless the output is JSON. */
export function runFromTerminal<S extends Subject>(
  call: Call,
  context: ReportContext,
  act: Act<S>,
  subject: S,
): Promise<Result> {
  const { terminal, isJson, attribution } = call;
  const onPart = (text: string) => (isJson ? undefined : terminal.line(text));
  return runAct({ ...context, onPart }, act, subject, attribution);
}
