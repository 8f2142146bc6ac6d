import { utcTime } from '../../shared/base/wall-time.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindReplay, type DeadLetter, type Replayed, removeLetter } from '../../shared/state/lane/dead-letters.ts';
import { readProvider } from '../../shared/state/provider/provider.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { PROVIDER_SAID } from '../model/errors/failure.ts';
import type { ReportSource } from '../report/report.ts';
import { because } from '../report/words.ts';
import type { Act, Place, Result } from './act.ts';
import { findLetterSubject, type LetterSubject, type LettersSubject, selectLetters } from './subjects.ts';

/** The results of a replay in words, which follow the name of the dead letter. */
const REPLAY_TEXTS: Readonly<Record<Replayed[0], string>> = {
  replayed: 'is replayed after the other messages of its chat',
  unfinished: 'cannot be replayed yet: a part of the message is still being stored. Try again in a moment',
  gone: 'was replayed or removed in the meantime',
  chatless: 'names no chat, so there is nobody to answer. It is kept',
};

const TIME_SPAN = /^(\d{1,15})\.\.(\d{1,15})$/;

/**
 * Replays one dead letter, or the letters of all messages that failed in a time span. The name of a time span has the form
 * `<from>..<to>`, in ms since the epoch.
 */
export const replay: Act<LetterSubject | LettersSubject> = {
  action: 'replay',
  label: 'Replay',
  async find(at, name) {
    const [, sinceMs, untilMs] = TIME_SPAN.exec(name) ?? [];
    if (sinceMs === undefined) return findLetterSubject(at, name);
    return selectLetters(at, { sinceMs: Number(sinceMs), untilMs: Number(untilMs), withoutDesk: true });
  },
  warningFor(at, subject) {
    if ('letter' in subject) return undefined;
    return subject.isEvery ? WARNING_FOR_ALL : endpointWarning(at);
  },
  apply: (at, subject) => ('letter' in subject ? putBack(at, subject.letter, subject.title) : replayAll(at, subject)),
};

/** Like `replay`, for finished answers. Their delivery needs no model call, so there is no warning that such calls fail. */
export const deliver: typeof replay = {
  ...replay,
  label: 'Deliver',
  warningFor: (_, subject) => ('isEvery' in subject && subject.isEvery ? WARNING_FOR_ALL : undefined),
};

const WARNING_FOR_ALL = 'This includes old ones, whatever their age.';

/** Removes dead letters for good. */
export const purge: Act<LetterSubject | LettersSubject> = {
  action: 'purge',
  label: 'Remove',
  find: findLetterSubject,
  warningFor(_, subject) {
    if (!('letter' in subject)) return 'What is removed will never be answered.';
    const { entry, record } = subject.letter;
    return `Message ${entry} of chat ${record.chat ?? ''}${because(record.reason)} will never be answered.`;
  },
  async apply({ redis, onPart }, subject) {
    const ids: string[] = [];
    for (const letter of 'letter' in subject ? [subject.letter] : subject.letters) {
      // Skip a letter that another operator has replayed or removed.
      if (!(await removeLetter(redis, letter))) continue;
      ids.push(letter.name);
      const { chat = 'no chat', reason } = letter.record;
      onPart?.(`removed ${letter.name}, message ${letter.entry} of chat ${chat}${because(reason)}`);
    }
    const { title, count } = subject;
    const singleText = ids.length === 0 ? REPLAY_TEXTS.gone : 'is removed for good';
    const text = count === undefined ? `${title} ${singleText}` : `Removed ${ids.length} of ${count}`;
    return { kind: 'removed', effect: ids.length > 0 ? 'done' : 'none', text, details: { removed: ids.length, ids } };
  },
};

/** Replays a dead letter, together with the letters of messages that were merged with its message. */
export async function putBack(
  { redis }: ReportSource,
  { keys, id, name }: Pick<DeadLetter, 'keys' | 'id' | 'name'>,
  title: string,
): Promise<Result> {
  const [kind, entry] = await bindReplay(redis).withPieces(keys, id);
  const ids = kind === 'replayed' ? [name] : [];
  const details = { replayed: ids.length, chatless: kind === 'chatless' ? 1 : 0, ids, ...(entry && { entry }) };
  const effect = kind === 'replayed' ? 'done' : 'failed';
  return { kind, effect, text: `${title} ${REPLAY_TEXTS[kind]}${entry && ` as ${entry}`}`, details };
}

/** Replays many messages, each in one step. After a crash, each message has been replayed once or not at all. */
async function replayAll(at: Place, { letters, count }: LettersSubject): Promise<Result> {
  const run = bindReplay(at.redis);
  const ids: string[] = [];
  let chatless = 0;
  // Messages that were merged are replayed together, because a single one would get an answer of its own.
  for (const pieces of Map.groupBy(letters, messageKeyOf).values()) {
    const { keys } = pieces[0] as DeadLetter;
    const letterIds = pieces.map(({ id }) => id);
    const [kind, entry] = await run.together(keys, letterIds);
    for (const { name } of pieces) at.onPart?.(`Dead letter ${name} ${REPLAY_TEXTS[kind]}${entry && ` as ${entry}`}`);
    if (kind === 'replayed') ids.push(...pieces.map(({ name }) => name));
    if (kind === 'chatless') chatless += pieces.length;
  }
  const details = { replayed: ids.length, chatless, ids };
  // An earlier run, which a crash interrupted, has replayed the letters that `count` includes and `letters` does not.
  const doneCount = count - letters.length + ids.length;
  const text = count === 0 ? 'Nothing to replay' : `Replayed ${doneCount} of ${count}`;
  return { kind: 'replayed', effect: doneCount > 0 ? 'done' : 'none', text, details };
}

/** A key that is the same for a message and for all messages merged into it. */
function messageKeyOf({ keys, record, entry, id }: DeadLetter): string {
  return `${keys.dead} ${record.into ?? (entry || id)}`;
}

/** The warning that messages may fail again; `undefined` if the endpoint is not known to fail. */
async function endpointWarning({ redis }: ReportSource): Promise<string | undefined> {
  const { failing } = await readProvider(redis, keysOf(0));
  const consequence = 'If a message fails again, its user is notified again.';
  if (failing) {
    const trouble = PROVIDER_SAID[failing.why];
    return `No call has gone through since ${utcTime(failing.sinceMs)}: the endpoint ${trouble}. ${consequence}`;
  }
  const { book } = await createBookStore(redis).read();
  if (book.get('fixed-parts')?.isOpen) return `The endpoint refused every message a moment ago. ${consequence}`;
  return undefined;
}
