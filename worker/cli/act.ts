import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { type Act, findFor, type Result, runAct, type Subject } from '../operator/act.ts';
import { ACTS } from '../operator/acts.ts';
import { type Call, type Ground, type RunVerb, withRedis } from './verb.ts';

/** Cancels one message, or all that a chat waits for. */
export const cancel = verbOf(ACTS.cancel, ([target], { kind }) => ({ target, result: kind }));

/** Tries a message again. */
export const retry = verbOf(ACTS.retry, (_, { kind, details }, { id }) => ({ entry: id, kind, ...details }));

/** Pauses a chat, or every chat. */
export const pause = verbOf(ACTS.pause, (_, { kind }, { id }) => ({ chat: id, result: kind }));

/** Ends a pause. */
export const resume = verbOf(ACTS.resume, (_, { kind }, { id }) => ({ chat: id, result: kind }));

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
