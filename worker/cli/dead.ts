import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { compareStreamIds, msOf } from '../../shared/redis/stream-id.ts';
import { bindReplay } from '../lane/dead-letters.ts';
import { LETTERS_DROPPED } from '../watch/snapshot.ts';
import { withRedis } from './connection.ts';
import { aboutOf, allLetters, fieldOf, findLetter, LETTER_NAME, lineOf, objectOf } from './dead-letter.ts';
import { type CliOutput, UsageError } from './output.ts';

const HELP = `Usage: npm run cli -- dead list [--limit N] [--json]
       npm run cli -- dead show <id> [--content] [--json]
       npm run cli -- dead replay <id> | --all [--json]
       npm run cli -- dead purge <id> | --before DAYS | --all --yes [--json]

Messages that failed are kept as dead letters. replay puts one back at the end of its chat's lane: it is answered once, after
what waits there already. purge removes it for good. An id is what list shows: 1700000000000-0, or 1/1700000000000-0 where
there are several shards.`;

const LIMIT_DEFAULT = 50;
const DAY_MS = 24 * 3600_000;
const AT_LEAST_ONE = /^[1-9]\d{0,4}$/;

interface DeadTask {
  redis: RedisClient;
  /** Of all shards. */
  shards: readonly Keys[];
  id: string | undefined;
  options: { json?: boolean; all?: boolean; yes?: boolean; content?: boolean; limit?: string; before?: string };
  output: CliOutput;
}

interface Action {
  run: (task: DeadTask) => Promise<number>;
  takesId: boolean;
  options: ParseArgsOptionsConfig;
}

const FLAG = { type: 'boolean' } as const;
const TEXT = { type: 'string' } as const;

/** An action refuses an unknown option, or `purge --all --yes --limit 5` would remove everything. */
const ACTIONS: Readonly<Record<string, Action>> = {
  list: { run: list, takesId: false, options: { limit: TEXT } },
  show: { run: show, takesId: true, options: { content: FLAG } },
  replay: { run: replay, takesId: true, options: { all: FLAG } },
  purge: { run: purge, takesId: true, options: { all: FLAG, yes: FLAG, before: TEXT } },
};

/** Lists, shows, replays or removes dead letters. */
export async function dead(args: string[], output: CliOutput): Promise<number> {
  if (args.includes('--help')) {
    output.line(HELP);
    return 0;
  }
  const [name = '', ...rest] = args;
  const action = ACTIONS[name];
  if (!action) throw new UsageError(HELP);
  const { id, options } = parsed(rest, action);
  return withRedis((redis, count) => {
    const shards = Array.from({ length: count }, (_, shard) => keysOf(shard));
    return action.run({ redis, shards, id, options, output });
  });
}

function parsed(args: string[], action: Action): Pick<DeadTask, 'id' | 'options'> {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { json: FLAG, ...action.options },
      allowPositionals: action.takesId,
    });
    const options = values as DeadTask['options'];
    const [id, ...more] = positionals;
    const numbers = [options.limit, options.before].filter((each) => each !== undefined);
    const isWellFormed = more.length === 0 && (id === undefined || LETTER_NAME.test(id));
    if (isWellFormed && numbers.every((each) => AT_LEAST_ONE.test(each))) return { id, options };
  } catch {
    // The message of parseArgs about an option says less than the help.
  }
  throw new UsageError(HELP);
}

async function list({ redis, shards, options, output }: DeadTask): Promise<number> {
  const limit = Number(options.limit ?? LIMIT_DEFAULT);
  const letters = await allLetters(redis, shards);
  const dropped = await droppedOf(redis, shards);
  const newest = letters.sort((one, other) => compareStreamIds(other.id, one.id)).slice(0, limit);
  if (options.json) output.line(JSON.stringify({ total: letters.length, dropped, letters: newest.map(aboutOf) }));
  else {
    output.line(
      `${letters.length} dead letters${letters.length > newest.length ? `, the newest ${newest.length}` : ''}`,
    );
    for (const letter of newest) output.line(lineOf(letter));
    if (dropped > 0) output.line(`${dropped} older ones were removed, because there were too many (DEAD_LETTERS_MAX)`);
  }
  return 0;
}

async function droppedOf(redis: RedisClient, shards: readonly Keys[]): Promise<number> {
  const counts = await Promise.all(shards.map(({ counts }) => redis.hget(counts, LETTERS_DROPPED)));
  return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
}

async function show({ redis, shards, id, options, output }: DeadTask): Promise<number> {
  if (id === undefined) throw new UsageError(HELP);
  const letter = await findLetter(redis, shards, id);
  const [entry] = await redis.xrange(letter.keys.dead, letter.id, letter.id);
  const text = entry && fieldOf(entry, 'message');
  // What cannot be read may hold anyone's text, anywhere in it.
  const { content, ...rest } = objectOf(text) ?? { content: text };
  const message = options.content && content !== undefined ? { ...rest, content } : rest;
  const shown = { ...aboutOf(letter), message };
  output.line(options.json ? JSON.stringify(shown) : JSON.stringify(shown, undefined, 2));
  if (content !== undefined && !options.content) output.note('the content is not shown without --content');
  return 0;
}

async function replay({ redis, shards, id, options, output }: DeadTask): Promise<number> {
  if ((id === undefined) === !options.all) throw new UsageError(HELP);
  const run = bindReplay(redis);
  const letters = id === undefined ? await allLetters(redis, shards) : [await findLetter(redis, shards, id)];
  const ids: string[] = [];
  let chatless = 0;
  // Oldest first, so that they are answered in the order in which they were sent.
  for (const letter of letters) {
    const [result, entry] = await run(letter.keys, letter.id);
    if (result === 'replayed') ids.push(letter.name);
    if (result === 'chatless') chatless += 1;
    if (!options.json) output.line(`${letter.name}: ${resultInWords(result, entry)}`);
  }
  if (options.json) output.line(JSON.stringify({ replayed: ids.length, chatless, ids }));
  return chatless > 0 ? 1 : 0;
}

function resultInWords(result: 'replayed' | 'gone' | 'chatless', entry: string): string {
  if (result === 'replayed') return `is back at the end of its lane as ${entry}`;
  return result === 'gone' ? 'was replayed or removed meanwhile' : 'names no chat, so nobody can be answered: it stays';
}

async function purge({ redis, shards, id, options, output }: DeadTask): Promise<number> {
  const ways = [id !== undefined, options.before !== undefined, options.all === true].filter(Boolean);
  if (ways.length !== 1) throw new UsageError(HELP);
  if (options.all && !options.yes) throw new UsageError('purge --all removes every dead letter for good: add --yes.');
  const untilMs =
    options.before === undefined ? Number.POSITIVE_INFINITY : Date.now() - Number(options.before) * DAY_MS;
  const letters = id === undefined ? await allLetters(redis, shards) : [await findLetter(redis, shards, id)];
  const ids: string[] = [];
  for (const letter of letters.filter((each) => msOf(each.id) < untilMs)) {
    // A concurrent command may have replayed it.
    if ((await redis.xdel(letter.keys.dead, letter.id)) === 0) continue;
    ids.push(letter.name);
    if (!options.json) output.line(`removed ${lineOf(letter)}`);
  }
  output.line(options.json ? JSON.stringify({ removed: ids.length, ids }) : `${ids.length} removed`);
  return 0;
}
