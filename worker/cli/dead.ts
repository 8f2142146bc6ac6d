import type { LetterFilter } from '../../shared/state/lane/letter-list.ts';
import { ACTS } from '../operator/acts.ts';
import { letterNamed, lettersOf } from '../operator/subjects.ts';
import { filterOf } from '../report/arguments.ts';
import { runHere } from './act.ts';
import { UsageError } from './terminal.ts';
import { type Call, withRedis } from './verb.ts';

const DAY_MS = 24 * 3600_000;

/** Puts letters back; the exit code is 1 when one names no chat. */
export async function replay(call: Call): Promise<number> {
  const { options, words } = call;
  if ((words.length === 0) === (options.all === undefined)) throw new UsageError(call.help);
  return onLetters(call, ACTS.replay, { withoutDesk: true });
}

/** Removes letters for good. */
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
    const subject = id === undefined ? await lettersOf(ground, { ...filter, ...more }) : await letterNamed(ground, id);
    const { text, details = {} } = await runHere(call, ground, act, subject);
    call.print(details, () => `${text}.`);
    return Number(details.chatless) > 0 ? 1 : 0;
  });
}
