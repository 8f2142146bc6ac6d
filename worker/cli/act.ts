import type { LetterFilter } from '../../shared/state/lane/letter-list.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { type Act, findFor, type Result, runAct, type Subject } from '../operator/act.ts';
import { ACTS } from '../operator/acts.ts';
import { findLetterSubject, selectLetters } from '../operator/subjects.ts';
import { filterOf } from '../report/arguments.ts';
import { UsageError } from './terminal.ts';
import { type Call, type Ground, type RunVerb, show, withRedis } from './verb.ts';

const DAY_MS = 24 * 3600_000;

/** Cancels one message, or all that a chat waits for. */
export const cancel = verbOf(ACTS.cancel, ([target], { kind }) => ({ target, result: kind }));

export const retry = verbOf(ACTS.retry, (_, { kind, details }, { id }) => ({ entry: id, kind, ...details }));

export const pause = verbOf(ACTS.pause, (_, { kind }, { id }) => ({ chat: id, result: kind }));

export const resume = verbOf(ACTS.resume, (_, { kind }, { id }) => ({ chat: id, result: kind }));

/** Lets somebody in or out, or prints who is in; the exit code is 1 when there was nothing to take back. */
export async function allow(call: Call): Promise<number> {
  const { options, terminal, words } = call;
  const isIn = options.remove === undefined;
  const [id] = words;
  if (!isIn && id === undefined) throw new UsageError(`--remove needs an id.\n\n${call.help}`);
  if (id === undefined) return show('allow', call);
  return withRedis(terminal, async (ground) => {
    const base = ground.settings.TELEGRAM_ALLOWED_IDS;
    const isSet = base === 'everyone' || base.has(Number(id));
    const result = await runHere(call, ground, isIn ? ACTS.allow : ACTS.disallow, { id, title: id, isSet });
    const isDone = result.kind === 'allowed' || result.kind === 'removed';
    call.print({ id: Number(id), isIn, isSet, isDone }, () => `${result.text}.`);
    return result.effect === 'failed' ? 1 : 0;
  });
}

/** Puts letters back; the exit code is 1 when one names no chat. */
export async function replay(call: Call): Promise<number> {
  const { options, words } = call;
  if ((words.length === 0) === (options.all === undefined)) throw new UsageError(call.help);
  return onLetters(call, ACTS.replay, { withoutDesk: true });
}

export async function purge(call: Call): Promise<number> {
  const { options, words } = call;
  const ways = [words.length > 0, options.before !== undefined, options.all !== undefined].filter(Boolean);
  if (ways.length !== 1) throw new UsageError(call.help);
  if (options.all && !options.yes) throw new UsageError('purge --all removes every dead letter for good: add --yes.');
  return onLetters(call, ACTS.purge, options.before ? { untilMs: Date.now() - Number(options.before) * DAY_MS } : {});
}

/** Does an act to the letter that is named, or to all that the filters mean. */
async function onLetters(call: Call, act: typeof ACTS.purge, more: LetterFilter): Promise<number> {
  const [id] = call.words;
  const filter = filterOf(call.options, Date.now());
  // Where one letter is named, no filter is taken.
  if (id !== undefined && Object.keys(filter).length > 0) throw new UsageError(call.help);
  return withRedis(call.terminal, async (ground) => {
    const subject =
      id === undefined ? await selectLetters(ground, { ...filter, ...more }) : await findLetterSubject(ground, id);
    const { text, details = {} } = await runHere(call, ground, act, subject);
    call.print(details, () => `${text}.`);
    return Number(details.chatless) > 0 ? 1 : 0;
  });
}

type Json = (words: readonly string[], result: Result, subject: Subject) => object;

/** A verb that does one act to what its first word names; without one, to every chat. The exit code is 1 when it cannot. */
function verbOf(act: Act, jsonOf: Json): RunVerb {
  return (call) =>
    withRedis(call.terminal, async (ground) => {
      const subject = await findFor(ground, act, call.words[0] ?? EVERY_CHAT);
      const result = await runHere(call, ground, act, subject);
      call.print(jsonOf(call.words, result, subject), () => `${result.text}.`);
      return result.effect === 'failed' ? 1 : 0;
    });
}

/** Runs an act for whoever sits at this machine; each part of a long one is a line. */
export function runHere<S extends Subject>(call: Call, ground: Ground, act: Act<S>, subject: S): Promise<Result> {
  const { terminal, isJson, attribution } = call;
  const onPart = (text: string) => (isJson ? undefined : terminal.line(text));
  return runAct({ ...ground, onPart }, act, subject, attribution);
}
