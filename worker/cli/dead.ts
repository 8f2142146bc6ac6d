import type { ParseArgsOptionsConfig } from 'node:util';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { compareStreamIds, msOf } from '../../shared/redis/stream-id.ts';
import { bindReplay, type Replayed } from '../../shared/state/lane/dead-letters.ts';
import { writeDown } from '../operator/trail.ts';
import { allLetters, type DeadLetter, fieldOf, findLetter, LETTER_NAME, objectOf } from '../report/dead-letters.ts';
import { LETTERS_DROPPED } from '../watch/snapshot.ts';
import { withRedis } from './connection.ts';
import { aboutOf, lineOf } from './dead-text.ts';
import { type FilterOptions, filterOf } from './letter-filter.ts';
import { FLAG, readOptions, TEXT } from './options.ts';
import { ORDER_HELP, ORDER_OPTIONS, orderOf } from './order.ts';
import { type Terminal, UsageError } from './terminal.ts';

const HELP = `Usage: npm run cli -- dead list [filters] [--limit N] [--json]
       npm run cli -- dead show <id> [--content] [--json]
       npm run cli -- dead replay <id> | --all [filters] [--json]
       npm run cli -- dead purge <id> | --before DAYS [filters] | --all --yes [filters] [--json]

Messages that failed are kept as dead letters. replay puts one back at the end of its chat's lane: it is answered once, after
what waits there already. An answer that was finished and could not be delivered is delivered, without asking the model. purge removes it for good. An id is what list shows, 1700000000000-0, or 1/1700000000000-0 where
there are several shards; or the entry of the message, as alerts and the log have it.
Filters: --chat <chat>, --reason <reason>, --since 90m|2h|3d|<ISO time>. All of them must hold.
replay and purge: ${ORDER_HELP}

  npm run cli -- dead list --reason authentication --since 2h
  npm run cli -- dead replay --all --chat 123456789`;

const LIMIT_DEFAULT = 50;
const DAY_MS = 24 * 3600_000;
const AT_LEAST_ONE = /^[1-9]\d{0,4}$/;

interface DeadTask {
  redis: RedisClient;
  /** Of all shards. */
  shards: readonly Keys[];
  id: string | undefined;
  options: FilterOptions & {
    json?: boolean;
    all?: boolean;
    yes?: boolean;
    content?: boolean;
    limit?: string;
    before?: string;
    by?: string;
    why?: string;
  };
  terminal: Terminal;
}

interface Action {
  run: (task: DeadTask) => Promise<number>;
  takesId: boolean;
  options: ParseArgsOptionsConfig;
}

const FILTERS = { chat: TEXT, reason: TEXT, since: TEXT } as const;

/** An action refuses an unknown option, or `purge --all --yes --limit 5` would remove everything. */
const ACTIONS: Readonly<Record<string, Action>> = {
  list: { run: list, takesId: false, options: { ...FILTERS, limit: TEXT } },
  show: { run: show, takesId: true, options: { content: FLAG } },
  replay: { run: replay, takesId: true, options: { ...FILTERS, ...ORDER_OPTIONS, all: FLAG } },
  purge: { run: purge, takesId: true, options: { ...FILTERS, ...ORDER_OPTIONS, all: FLAG, yes: FLAG, before: TEXT } },
};

/** Lists, shows, replays or removes dead letters. */
export async function dead(args: string[], terminal: Terminal): Promise<number> {
  if (args.includes('--help')) {
    terminal.line(HELP);
    return 0;
  }
  const [name = '', ...rest] = args;
  const action = ACTIONS[name];
  if (!action) throw new UsageError(HELP);
  const { id, options } = parsed(rest, action);
  return withRedis(terminal, (redis, count) => {
    const shards = Array.from({ length: count }, (_, shard) => keysOf(shard));
    return action.run({ redis, shards, id, options, terminal });
  });
}

function parsed(args: string[], action: Action): Pick<DeadTask, 'id' | 'options'> {
  const { values, positionals } = readOptions(args, HELP, { words: action.takesId ? 1 : 0, options: action.options });
  const options = values as DeadTask['options'];
  const [id] = positionals;
  const numbers = [options.limit, options.before].filter((each) => each !== undefined);
  const isFiltered = Object.keys(FILTERS).some((name) => values[name] !== undefined);
  const isNamed = id === undefined || (LETTER_NAME.test(id) && !isFiltered);
  if (isNamed && numbers.every((each) => AT_LEAST_ONE.test(each))) return { id, options };
  throw new UsageError(HELP);
}

/** The letter that was named, or all that the filters mean, oldest first: in the order in which they were sent. */
async function meantLetters({ redis, shards, id, options }: DeadTask): Promise<DeadLetter[]> {
  if (id !== undefined) return [await findLetter(redis, shards, id)];
  return allLetters(redis, shards, filterOf(options, Date.now()));
}

async function list(task: DeadTask): Promise<number> {
  const { redis, shards, options, terminal } = task;
  const limit = Number(options.limit ?? LIMIT_DEFAULT);
  const letters = await meantLetters(task);
  const dropped = await droppedOf(redis, shards);
  const newest = letters.sort((one, other) => compareStreamIds(other.id, one.id)).slice(0, limit);
  if (options.json) terminal.line(JSON.stringify({ total: letters.length, dropped, letters: newest.map(aboutOf) }));
  else {
    terminal.line(
      `${letters.length} dead letters${letters.length > newest.length ? `, the newest ${newest.length}` : ''}`,
    );
    for (const letter of newest) terminal.line(lineOf(letter));
    if (dropped > 0)
      terminal.line(`${dropped} older ones were removed, because there were too many (DEAD_LETTERS_MAX)`);
  }
  return 0;
}

async function droppedOf(redis: RedisClient, shards: readonly Keys[]): Promise<number> {
  const counts = await Promise.all(shards.map(({ counts }) => redis.hget(counts, LETTERS_DROPPED)));
  return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
}

async function show({ redis, shards, id, options, terminal }: DeadTask): Promise<number> {
  if (id === undefined) throw new UsageError(HELP);
  const letter = await findLetter(redis, shards, id);
  const [entry] = await redis.xrange(letter.keys.dead, letter.id, letter.id);
  const text = entry && fieldOf(entry, 'message');
  // What cannot be read may hold anyone's text, anywhere in it.
  const { content, ...rest } = objectOf(text) ?? { content: text };
  const message = options.content && content !== undefined ? { ...rest, content } : rest;
  const shown = { ...aboutOf(letter), message };
  terminal.line(options.json ? JSON.stringify(shown) : JSON.stringify(shown, undefined, 2));
  if (content !== undefined && !options.content) terminal.note('the content is not shown without --content');
  return 0;
}

async function replay(task: DeadTask): Promise<number> {
  const { redis, id, options, terminal } = task;
  if ((id === undefined) === !options.all) throw new UsageError(HELP);
  const run = bindReplay(redis);
  const letters = await meantLetters(task);
  if (letters.length > 0) await writeDown(redis, 'replay', targetOf(letters), orderOf(options));
  const ids: string[] = [];
  let chatless = 0;
  for (const letter of letters) {
    const [result, entry] = await (id === undefined ? run.alone : run.withPieces)(letter.keys, letter.id);
    if (result === 'replayed') ids.push(letter.name);
    if (result === 'chatless') chatless += 1;
    if (!options.json) terminal.line(`${letter.name}: ${resultInWords(result, entry)}`);
  }
  if (options.json) terminal.line(JSON.stringify({ replayed: ids.length, chatless, ids }));
  return chatless > 0 ? 1 : 0;
}

/** What is meant, for the list of actions. */
function targetOf(letters: readonly DeadLetter[]): string {
  const [first] = letters;
  return letters.length === 1 && first ? first.name : `${letters.length} dead letters`;
}

function resultInWords(result: Replayed[0], entry: string): string {
  if (result === 'unfinished') return 'a piece of it is still being put aside: try again in a moment';
  if (result === 'replayed') return `is back at the end of its lane as ${entry}`;
  return result === 'gone' ? 'was replayed or removed meanwhile' : 'names no chat, so nobody can be answered: it stays';
}

async function purge(task: DeadTask): Promise<number> {
  const { redis, id, options, terminal } = task;
  const ways = [id !== undefined, options.before !== undefined, options.all === true].filter(Boolean);
  if (ways.length !== 1) throw new UsageError(HELP);
  if (options.all && !options.yes) throw new UsageError('purge --all removes every dead letter for good: add --yes.');
  const untilMs =
    options.before === undefined ? Number.POSITIVE_INFINITY : Date.now() - Number(options.before) * DAY_MS;
  const letters = (await meantLetters(task)).filter((each) => msOf(each.id) < untilMs);
  if (letters.length > 0) await writeDown(redis, 'purge', targetOf(letters), orderOf(options));
  const ids: string[] = [];
  for (const letter of letters) {
    // A concurrent command may have replayed it.
    if ((await redis.xdel(letter.keys.dead, letter.id)) === 0) continue;
    ids.push(letter.name);
    if (!options.json) terminal.line(`removed ${lineOf(letter)}`);
  }
  terminal.line(options.json ? JSON.stringify({ removed: ids.length, ids }) : `${ids.length} removed`);
  return 0;
}
