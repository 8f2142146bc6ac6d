import { parseChatKey } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import {
  allLetters,
  bindReplay,
  type DeadLetter,
  fieldOfLetter,
  findLetter,
  type LetterFilter,
  objectOf,
  type Replayed,
  removeLetter,
} from '../../shared/state/lane/dead-letters.ts';
import { recordAction } from '../../shared/state/process/actions.ts';
import { lettersReport, readLetters } from '../report/letters.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';
import { because } from '../report/words.ts';
import { UsageError } from './terminal.ts';
import { type Call, withRedis } from './verb.ts';

const LIMIT_DEFAULT = 50;
const DAY_MS = 24 * 3600_000;
const UNITS_MS = { s: 1_000, m: 60_000, h: 3600_000, d: DAY_MS } as const;

/** Prints the newest letters that are meant. */
export async function list(call: Call): Promise<number> {
  const filter = filterOf(call, Date.now());
  return withRedis(call.terminal, async (source) => {
    const read = await readLetters(source, filter, Number(call.options.limit ?? LIMIT_DEFAULT));
    call.print({ ...read, letters: read.letters.map(aboutOf) }, () => lettersReport(read, Date.now()));
    return 0;
  });
}

/** Prints one letter; what its user wrote only with `--content`. */
export async function show(call: Call): Promise<number> {
  return withRedis(call.terminal, async (source) => {
    const letter = await findLetter(source.redis, shardsOf(source), call.words[0] ?? '');
    const text = await fieldOfLetter(source.redis, letter.keys, letter.id, 'message');
    // What cannot be read may hold anyone's text, anywhere in it.
    const { content, ...rest } = objectOf(text) ?? { content: text };
    const isShown = call.options.content !== undefined;
    const shown = { ...aboutOf(letter), message: isShown && content !== undefined ? { ...rest, content } : rest };
    call.print(shown, () => JSON.stringify(shown, undefined, 2));
    if (content !== undefined && !isShown) call.terminal.note('the content is not shown without --content');
    return 0;
  });
}

/** Puts letters back; the exit code is 1 when one names no chat. */
export async function replay(call: Call): Promise<number> {
  const { options, isJson, terminal, words } = call;
  if ((words.length === 0) === (options.all === undefined)) throw new UsageError(call.help);
  const meant = lettersMeant(call);
  return withRedis(terminal, async (source) => {
    const run = bindReplay(source.redis);
    const letters = await meant(source);
    await record(call, source, 'replay', letters);
    const replayed: string[] = [];
    let chatless = 0;
    // Put back one by one, a piece of a message would be answered by itself.
    const messages = Map.groupBy(
      letters,
      ({ keys, record, entry, id }) => `${keys.dead} ${record.into ?? (entry || id)}`,
    );
    for (const pieces of messages.values()) {
      const [first] = pieces;
      if (first === undefined) continue;
      const { keys, id } = first;
      const ids = pieces.map((piece) => piece.id);
      const [result, entry] = await (words.length === 0 ? run.together(keys, ids) : run.withPieces(keys, id));
      if (result === 'replayed') replayed.push(...pieces.map(({ name }) => name));
      if (result === 'chatless') chatless += pieces.length;
      if (!isJson) for (const { name } of pieces) terminal.line(`${name}: ${REPLAYED[result]}${entry}`);
    }
    if (isJson) terminal.line(JSON.stringify({ replayed: replayed.length, chatless, ids: replayed }));
    return chatless > 0 ? 1 : 0;
  });
}

const REPLAYED: Readonly<Record<Replayed[0], string>> = {
  replayed: 'is back at the end of its lane as ',
  unfinished: 'a piece of it is still being put aside: try again in a moment',
  gone: 'was put back or removed in the meantime',
  chatless: 'names no chat, so nobody can be answered: it stays',
};

/** Removes letters for good. */
export async function purge(call: Call): Promise<number> {
  const { options, isJson, terminal, words } = call;
  const ways = [words.length > 0, options.before !== undefined, options.all !== undefined].filter(Boolean);
  if (ways.length !== 1) throw new UsageError(call.help);
  if (options.all && !options.yes) throw new UsageError('purge --all removes every dead letter for good: add --yes.');
  const untilMs =
    options.before === undefined ? Number.POSITIVE_INFINITY : Date.now() - Number(options.before) * DAY_MS;
  const meant = lettersMeant(call);
  return withRedis(terminal, async (source) => {
    const letters = (await meant(source)).filter((each) => msOf(each.id) < untilMs);
    await record(call, source, 'purge', letters);
    const ids: string[] = [];
    for (const letter of letters) {
      // A concurrent command may have replayed it.
      if (!(await removeLetter(source.redis, letter))) continue;
      ids.push(letter.name);
      const { chat = 'no chat', reason } = letter.record;
      if (!isJson) terminal.line(`removed ${letter.name}, message ${letter.entry} of chat ${chat}${because(reason)}`);
    }
    call.print({ removed: ids.length, ids }, () => `${ids.length} removed`);
    return 0;
  });
}

/** Reads the letter that was named, or all that the filters mean, oldest first: in the order in which they were sent. */
function lettersMeant(call: Call): (source: ReportSource) => Promise<DeadLetter[]> {
  const [id] = call.words;
  const filter = filterOf(call, Date.now());
  if (id !== undefined && Object.keys(filter).length > 0) throw new UsageError(call.help);
  return async (source) => {
    const shards = shardsOf(source);
    return id === undefined ? allLetters(source.redis, shards, filter) : [await findLetter(source.redis, shards, id)];
  };
}

async function record(call: Call, { redis }: ReportSource, action: 'replay' | 'purge', letters: readonly DeadLetter[]) {
  const [first] = letters;
  if (first === undefined) return;
  const target = letters.length === 1 ? first.name : `${letters.length} dead letters`;
  await recordAction(redis, action, target, call.attribution);
}

/** A letter as JSON shows it. Redis makes the ids by its own clock, which may be ahead of ours. */
function aboutOf({ name, id, record: about }: DeadLetter) {
  const ageSeconds = Math.max(0, Math.round((Date.now() - msOf(id)) / 1000));
  return { ...about, id: name, at: new Date(msOf(id)).toISOString(), ageSeconds };
}

/** The filter that the options state. Throws `UsageError` for a chat or a time that is none. */
function filterOf({ options: { chat, reason, since } }: Call, nowMs: number): LetterFilter {
  const key = chat === undefined ? undefined : parseChatKey(chat)?.chat;
  if (chat !== undefined && key === undefined) throw new UsageError(`--chat is the id of a chat, and not "${chat}".`);
  return {
    ...(key !== undefined && { chat: key }),
    ...(reason !== undefined && { reason }),
    ...(since !== undefined && { sinceMs: sinceMsOf(since, nowMs) }),
  };
}

/** A duration back from now, such as `90m`, or an ISO time. */
function sinceMsOf(text: string, nowMs: number): number {
  const [, number, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return nowMs - Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
  const atMs = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) throw new UsageError(`--since is 90m, 2h, 3d or an ISO time, and not "${text}".`);
  return atMs;
}
