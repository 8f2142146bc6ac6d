import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Redis } from 'ioredis';
import { type Keys, keysOf } from '../../shared/keys.ts';
import { bindScript } from '../../shared/script.ts';
import type { OutcomeRecord } from '../lane.ts';
import { type CliOutput, UsageError } from './output.ts';
import { withRedis } from './state.ts';

const HELP = `Usage: npm run cli -- dead list [--limit N] [--json]
       npm run cli -- dead show <id> [--content] [--json]
       npm run cli -- dead replay <id> | --all [--json]
       npm run cli -- dead purge <id> | --before DAYS | --all --yes [--json]

Messages that failed are kept as dead letters. replay puts one back at the end of its chat's lane: it is answered once, after
what waits there already. purge removes it for good. An id is what list shows, 1700000000000-0.`;

const LIMIT_DEFAULT = 50;
const PAGE = 500;
const DAY_MS = 24 * 3600_000;
const ID = /^\d{1,16}-\d{1,10}$/;

/** A message that failed, as it is kept. */
interface DeadLetter {
  id: string;
  keys: Keys;
  /** How it ended. */
  record: Partial<OutcomeRecord>;
  /** The message itself, JSON; absent when the entry held none. */
  message?: string;
}

interface DeadTask {
  redis: Redis;
  /** Of all shards. */
  shards: readonly Keys[];
  id: string | undefined;
  options: { json?: boolean; all?: boolean; yes?: boolean; content?: boolean; limit?: string; before?: string };
  output: CliOutput;
}

const ACTIONS: Readonly<Record<string, (task: DeadTask) => Promise<number>>> = { list, show, replay, purge };

/** Lists, shows, replays or removes dead letters. */
export async function dead(args: string[], output: CliOutput): Promise<number> {
  const { values, positionals } = parsed(args);
  if (values.help) {
    output.line(HELP);
    return 0;
  }
  const [name = '', id, ...rest] = positionals;
  const action = ACTIONS[name];
  const isMalformed = !action || rest.length > 0 || (id !== undefined && !ID.test(id));
  const limits = [values.limit, values.before].filter((each) => each !== undefined);
  if (isMalformed || limits.some((each) => !/^\d{1,6}$/.test(each))) throw new UsageError(HELP);
  return withRedis((redis, count) => {
    const shards = Array.from({ length: count }, (_, shard) => keysOf(shard));
    return action({ redis, shards, id, options: values, output });
  });
}

function parsed(args: string[]) {
  const flag = { type: 'boolean' } as const;
  const text = { type: 'string' } as const;
  const options = { help: flag, json: flag, all: flag, yes: flag, content: flag, limit: text, before: text };
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch {
    throw new UsageError(HELP);
  }
}

async function list({ redis, shards, options, output }: DeadTask): Promise<number> {
  const limit = Number(options.limit ?? LIMIT_DEFAULT);
  const letters: DeadLetter[] = [];
  for (const keys of shards) for await (const letter of lettersOf(redis, keys)) letters.push(letter);
  const newest = letters.sort((one, other) => msOf(other.id) - msOf(one.id)).slice(0, limit);
  if (options.json) output.line(JSON.stringify({ total: letters.length, letters: newest.map(aboutOf) }));
  else {
    output.line(
      `${letters.length} dead letters${letters.length > newest.length ? `, the newest ${newest.length}` : ''}`,
    );
    for (const letter of newest) output.line(lineOf(letter));
  }
  return 0;
}

async function show({ redis, shards, id, options, output }: DeadTask): Promise<number> {
  if (id === undefined) throw new UsageError(HELP);
  const letter = await found(redis, shards, id);
  const message = JSON.parse(letter.message ?? '{}') as { content?: unknown };
  const { content, ...rest } = message;
  const shown = { ...aboutOf(letter), message: options.content ? message : rest };
  output.line(options.json ? JSON.stringify(shown) : JSON.stringify(shown, undefined, 2));
  if (content !== undefined && !options.content) output.note('the content is not shown without --content');
  return 0;
}

async function replay({ redis, shards, id, options, output }: DeadTask): Promise<number> {
  if ((id === undefined) === !options.all) throw new UsageError(HELP);
  const run = bindScript<['replayed' | 'gone' | 'chatless', string]>(
    redis,
    join(import.meta.dirname, '..', 'scripts', 'replay.lua'),
  );
  const letters = id === undefined ? await allOf(redis, shards) : [await found(redis, shards, id)];
  let replayed = 0;
  let chatless = 0;
  // Oldest first, so that they are answered in the order in which they were written.
  for (const letter of letters) {
    const [result, entry] = await run([letter.keys.dead, letter.keys.inbound, letter.keys.counts], [letter.id]);
    if (result === 'replayed') replayed += 1;
    if (result === 'chatless') chatless += 1;
    if (!options.json) output.line(`${letter.id}: ${resultInWords(result, entry)}`);
  }
  if (options.json) output.line(JSON.stringify({ replayed, chatless }));
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
  const letters = id === undefined ? await allOf(redis, shards) : [await found(redis, shards, id)];
  let removed = 0;
  for (const letter of letters.filter((each) => msOf(each.id) < untilMs)) {
    removed += await redis.xdel(letter.keys.dead, letter.id);
    if (!options.json) output.line(`removed ${lineOf(letter)}`);
  }
  output.line(options.json ? JSON.stringify({ removed }) : `${removed} removed`);
  return 0;
}

async function found(redis: Redis, shards: readonly Keys[], id: string): Promise<DeadLetter> {
  for (const keys of shards) {
    const [entry] = await redis.xrange(keys.dead, id, id);
    if (entry) return letterOf(keys, entry);
  }
  throw new Error(`There is no dead letter ${id}.`);
}

async function allOf(redis: Redis, shards: readonly Keys[]): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for (const keys of shards) for await (const letter of lettersOf(redis, keys)) letters.push(letter);
  return letters;
}

/** Oldest first, read in pages. */
async function* lettersOf(redis: Redis, keys: Keys): AsyncGenerator<DeadLetter> {
  for (let from = '-'; ; ) {
    const page = await redis.xrange(keys.dead, from, '+', 'COUNT', PAGE);
    for (const entry of page) yield letterOf(keys, entry);
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < PAGE) return;
    from = `(${last}`;
  }
}

/** Our own fields stand first; the entry's, behind them, may have any name. */
function letterOf(keys: Keys, [id, fields]: [string, string[]]): DeadLetter {
  const field = (name: string): string | undefined => {
    const at = fields.findIndex((each, index) => index % 2 === 0 && each === name);
    return at < 0 ? undefined : fields[at + 1];
  };
  const message = field('message');
  return { id, keys, record: JSON.parse(field('record') ?? '{}'), ...(message !== undefined && { message }) };
}

function aboutOf({ id, record }: DeadLetter) {
  return { id, at: new Date(msOf(id)).toISOString(), ...record };
}

function lineOf({ id, record }: DeadLetter): string {
  const { chat = 'no chat', reason = 'no reason', traceId = '' } = record;
  return `${id}  ${new Date(msOf(id)).toISOString()}  chat ${chat}  ${reason}  trace ${traceId || 'none'}`;
}

function msOf(id: string): number {
  return Number(id.split('-')[0]);
}
