import { utcTime } from '../../shared/base/wall-time.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindReplay, type DeadLetter, type Replayed, removeLetter } from '../../shared/state/lane/dead-letters.ts';
import { readProvider } from '../../shared/state/provider/provider.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { PROVIDER_SAID } from '../model/errors/failure.ts';
import type { ReportSource } from '../report/report.ts';
import { because } from '../report/words.ts';
import type { Act, Place, Result } from './act.ts';
import { type LetterSubject, type LettersSubject, letterNamed, lettersOf } from './subjects.ts';

/** The result of a replay, as the words behind the name of the dead letter. */
const REPLAYED: Readonly<Record<Replayed[0], string>> = {
  replayed: 'is back at the end of its lane',
  unfinished: 'stays: a piece of it is still being put aside. Try again in a moment',
  gone: 'was put back or removed in the meantime',
  chatless: 'names no chat, so nobody can be answered: it stays',
};

const TIME = /^(\d{1,15})\.\.(\d{1,15})$/;

/** Puts one dead letter back, or many. The name `0..1700000000000` selects the messages that failed in that time. */
export const replay: Act<LetterSubject | LettersSubject> = {
  deed: 'replay',
  label: 'Replay',
  async find(at, name) {
    const [, sinceMs, untilMs] = TIME.exec(name) ?? [];
    if (sinceMs === undefined) return letterNamed(at, name);
    return lettersOf(at, { sinceMs: Number(sinceMs), untilMs: Number(untilMs), withoutDesk: true });
  },
  asks(at, subject) {
    if ('letter' in subject) return undefined;
    return subject.isEvery ? EVERY : endpointTrouble(at);
  },
  does: (at, subject) => ('letter' in subject ? putBack(at, subject.letter, subject.called) : replayAll(at, subject)),
};

/** Puts back messages whose answers only have to be delivered, without a call to the endpoint. */
export const deliver: typeof replay = {
  ...replay,
  label: 'Deliver',
  asks: (_, subject) => ('isEvery' in subject && subject.isEvery ? EVERY : undefined),
};

const EVERY = 'Each is put back, however old it is.';

/** Removes one dead letter, or all of a filter, for good. */
export const purge: Act<LetterSubject | LettersSubject> = {
  deed: 'purge',
  label: 'Remove',
  find: letterNamed,
  asks(_, subject) {
    if (!('letter' in subject)) return 'They will never be answered.';
    const { entry, record } = subject.letter;
    return `Message ${entry} of chat ${record.chat ?? ''}${because(record.reason)} will never be answered.`;
  },
  async does({ redis, onPart }, subject) {
    const ids: string[] = [];
    for (const letter of 'letter' in subject ? [subject.letter] : subject.letters) {
      // Another operator may have put the letter back.
      if (!(await removeLetter(redis, letter))) continue;
      ids.push(letter.name);
      const { chat = 'no chat', reason } = letter.record;
      onPart?.(`removed ${letter.name}, message ${letter.entry} of chat ${chat}${because(reason)}`);
    }
    const { called, count } = subject;
    const one = ids.length === 0 ? REPLAYED.gone : 'is removed for good';
    const text = count === undefined ? `${called} ${one}` : `Removed ${ids.length} of ${count}`;
    return { kind: 'removed', effect: ids.length > 0 ? 'done' : 'none', text, details: { removed: ids.length, ids } };
  },
};

/** Puts one dead letter back, with all pieces of its message. */
export async function putBack(
  { redis }: ReportSource,
  { keys, id, name }: Pick<DeadLetter, 'keys' | 'id' | 'name'>,
  called: string,
): Promise<Result> {
  const [kind, entry] = await bindReplay(redis).withPieces(keys, id);
  const ids = kind === 'replayed' ? [name] : [];
  const details = { replayed: ids.length, chatless: kind === 'chatless' ? 1 : 0, ids, ...(entry && { entry }) };
  const effect = kind === 'replayed' ? 'done' : 'failed';
  return { kind, effect, text: `${called} ${REPLAYED[kind]}${entry && ` as ${entry}`}`, details };
}

/** Puts each message back in one step, so that a run that is cut has put each back once or not at all. */
async function replayAll(at: Place, { letters, count }: LettersSubject): Promise<Result> {
  const run = bindReplay(at.redis);
  const ids: string[] = [];
  let chatless = 0;
  // All pieces of a message go back together. A piece alone would be answered by itself.
  for (const pieces of Map.groupBy(letters, messageOf).values()) {
    const { keys } = pieces[0] as DeadLetter;
    const [kind, entry] = await run.together(
      keys,
      pieces.map(({ id }) => id),
    );
    for (const { name } of pieces) at.onPart?.(`Dead letter ${name} ${REPLAYED[kind]}${entry && ` as ${entry}`}`);
    if (kind === 'replayed') ids.push(...pieces.map(({ name }) => name));
    if (kind === 'chatless') chatless += pieces.length;
  }
  const details = { replayed: ids.length, chatless, ids };
  // If an earlier run was cut, it has put back the letters of `count` that are gone now.
  const doneCount = count - letters.length + ids.length;
  const text = count === 0 ? 'Nothing to replay' : `Replayed ${doneCount} of ${count}`;
  return { kind: 'replayed', effect: doneCount > 0 ? 'done' : 'none', text, details };
}

/** A key that is the same for all pieces of a message. */
function messageOf({ keys, record, entry, id }: DeadLetter): string {
  return `${keys.dead} ${record.into ?? (entry || id)}`;
}

/** A warning while the endpoint still fails: the messages may fail again. */
async function endpointTrouble({ redis }: ReportSource): Promise<string | undefined> {
  const { failing } = await readProvider(redis, keysOf(0));
  const again = 'A message that fails again says so to its user again.';
  if (failing) {
    const trouble = PROVIDER_SAID[failing.why];
    return `No call has gone through since ${utcTime(failing.sinceMs)}: the endpoint ${trouble}. ${again}`;
  }
  const { book } = await createBookStore(redis).read();
  return book.get('fixed-parts')?.isOpen ? `The endpoint refused every message a moment ago. ${again}` : undefined;
}
