import { jsonFields } from '../../shared/base/fields.ts';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { type DeadLetter, fieldOfLetter, findLetter } from '../../shared/state/lane/dead-letters.ts';
import type { LetterFilter } from '../../shared/state/lane/letter-list.ts';
import { purgeLetter, purgeLetters, type ReplayedMessage, replayLetter, replayLetters } from '../operator/letters.ts';
import { REPLAYED } from '../operator/words.ts';
import { lettersReport, readLetters } from '../report/letters.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';
import { because } from '../report/words.ts';
import { UsageError } from './terminal.ts';
import { type Call, withRedis } from './verb.ts';

const LIMIT_DEFAULT = 50;
/** One line of the trail is about so many messages. */
const BATCH = 1_000;
const DAY_MS = 24 * 3600_000;

/** Prints the newest letters that are meant. */
export async function list(call: Call): Promise<number> {
  const filter = filterOf(call, Date.now());
  return withRedis(call.terminal, async (source) => {
    const read = await readLetters(source, filter, Number(call.options.limit ?? LIMIT_DEFAULT));
    const { letters, total, dropped } = read;
    call.print({ letters: letters.map(aboutOf), total, dropped }, () => lettersReport(read, Date.now()));
    return 0;
  });
}

/** Prints one letter; what its user wrote only with `--content`. */
export async function show(call: Call): Promise<number> {
  return withRedis(call.terminal, async (source) => {
    const letter = await findLetter(source.redis, shardsOf(source), call.words[0] ?? '');
    const text = await fieldOfLetter(source.redis, letter.keys, letter.id, 'message');
    // What cannot be read may hold anyone's text, anywhere in it.
    const { content, ...rest } = jsonFields(text) ?? { content: text };
    const isShown = call.options.content !== undefined;
    const shown = { ...aboutOf(letter), message: isShown && content !== undefined ? { ...rest, content } : rest };
    call.print(shown, () => JSON.stringify(shown, undefined, 2));
    if (content !== undefined && !isShown) call.terminal.note('the content is not shown without --content');
    return 0;
  });
}

/** Puts letters back; the exit code is 1 when one names no chat. */
export async function replay(call: Call): Promise<number> {
  const { attribution, options, isJson, terminal, words } = call;
  if ((words.length === 0) === (options.all === undefined)) throw new UsageError(call.help);
  const [id] = words;
  const filter = id === undefined ? filterOf(call, Date.now()) : unfiltered(call);
  return withRedis(terminal, async (source) => {
    const ids: string[] = [];
    let chatless = 0;
    const all =
      id === undefined ? replayLetters(source, filter, attribution, BATCH) : [await replayedAlone(source, id, call)];
    for await (const { letters, result, entry } of all) {
      if (result === 'replayed') ids.push(...letters);
      if (result === 'chatless') chatless += letters.length;
      if (!isJson) for (const name of letters) terminal.line(`${name}: ${REPLAYED[result]}${entry && ` as ${entry}`}`);
    }
    if (isJson) terminal.line(JSON.stringify({ replayed: ids.length, chatless, ids }));
    else if (ids.length === 0 && chatless === 0 && id === undefined)
      terminal.line('No dead letter is meant: nothing was put back.');
    return chatless > 0 ? 1 : 0;
  });
}

async function replayedAlone(source: ReportSource, id: string, call: Call): Promise<ReplayedMessage> {
  const letter = await findLetter(source.redis, shardsOf(source), id);
  const [result, entry] = await replayLetter(source, letter, call.attribution);
  return { letters: [letter.name], result, entry };
}

/** Removes letters for good. */
export async function purge(call: Call): Promise<number> {
  const { attribution, options, isJson, terminal, words } = call;
  const ways = [words.length > 0, options.before !== undefined, options.all !== undefined].filter(Boolean);
  if (ways.length !== 1) throw new UsageError(call.help);
  if (options.all && !options.yes) throw new UsageError('purge --all removes every dead letter for good: add --yes.');
  const nowMs = Date.now();
  const [id] = words;
  const before = options.before === undefined ? {} : { untilMs: nowMs - Number(options.before) * DAY_MS };
  const filter = id === undefined ? { ...filterOf(call, nowMs), ...before } : unfiltered(call);
  return withRedis(terminal, async (source) => {
    const ids: string[] = [];
    const all =
      id === undefined ? purgeLetters(source, filter, attribution, BATCH) : await purgedAlone(source, id, call);
    for await (const { name, entry, record } of all) {
      ids.push(name);
      const { chat = 'no chat', reason } = record;
      if (!isJson) terminal.line(`removed ${name}, message ${entry} of chat ${chat}${because(reason)}`);
    }
    call.print({ removed: ids.length, ids }, () => `${ids.length} removed`);
    return 0;
  });
}

async function purgedAlone(source: ReportSource, id: string, call: Call) {
  const letter = await findLetter(source.redis, shardsOf(source), id);
  return (await purgeLetter(source, letter, call.attribution)) ? [letter] : [];
}

/** Where one letter is named, no filter is taken. */
function unfiltered(call: Call): LetterFilter {
  if (Object.keys(filterOf(call, Date.now())).length > 0) throw new UsageError(call.help);
  return {};
}

/** A letter as JSON shows it. Redis makes the ids by its own clock, which may be ahead of ours. */
function aboutOf({ name, id, record: about }: DeadLetter) {
  const ageSeconds = Math.max(0, Math.round((Date.now() - msOf(id)) / 1000));
  return { ...about, id: name, at: new Date(msOf(id)).toISOString(), ageSeconds };
}

/** The filter that the options state; empty words say nothing. Throws `UsageError` for a chat or a time that is none. */
function filterOf({ options: { chat, reason, since } }: Call, nowMs: number): LetterFilter {
  const key = chat ? parseChatKey(chat)?.chat : undefined;
  if (chat && key === undefined) throw new UsageError(`--chat is the id of a chat, and not "${chat}".`);
  const sinceMs = since ? sinceMsOf(since, nowMs) : undefined;
  if (Number.isNaN(sinceMs)) throw new UsageError(`--since is 90m, 2h, 3d or an ISO time, and not "${since}".`);
  return {
    ...(key !== undefined && { chat: key }),
    ...(reason && { reason }),
    ...(sinceMs !== undefined && { sinceMs }),
  };
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3600_000, d: 24 * 3600_000 } as const;

/** A duration back from now, such as `90m`, or an ISO time. */
function sinceMsOf(text: string, nowMs: number): number {
  const [, number, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return nowMs - Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
  return /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
}
