import { keysOf } from '../../shared/redis/keys.ts';
import { readMessage } from '../report/message.ts';
import { ENTRY_NAME, findMessages, TRACE_NAME } from '../report/message-name.ts';
import { nowOf } from '../report/source.ts';
import { withRedis } from './connection.ts';
import { messageLines } from './message-text.ts';
import { readOptions } from './options.ts';
import { type CliOutput, UsageError } from './output.ts';

const HELP = `Usage: npm run cli -- message <id> [--json]

The life of one message: where it is now and since when, what happened to it, and what can be done. An id is an entry
(1700000000000-0, or 1/1700000000000-0 where several shards have the same), a trace id (32 hexadecimal digits), or the id
of a dead letter, as alerts, the log and "dead list" have them. Shows no words of anybody. The turn of a message is kept
for an hour after its outcome, the ledger for 90 days.
Exit code 0 when it is found, 1 when it is not, 2 for usage or configuration.

  npm run cli -- message 1700000000000-0
  npm run -s cli -- message 0af7651916cd43dd8448eb211c80319c --json | jq .place`;

/** Prints the life of a message; the exit code is 1 when nothing is known of it. */
export async function message(args: string[], output: CliOutput): Promise<number> {
  const { values, positionals } = readOptions(args, HELP, { words: 1 });
  if (values.help) {
    output.line(HELP);
    return 0;
  }
  const [id = ''] = positionals;
  assertName(id, HELP);
  return withRedis(async (redis, shards) => {
    const source = { redis, shards };
    if (TRACE_NAME.test(id)) output.note('looking for the trace, from the newest message back');
    const name = oneOf(await findMessages(source, id), id);
    const report = name && (await readMessage(source, name));
    if (!report) throw new Error(unknownMessage(id));
    const nowMs = await nowOf(redis, keysOf(0).workers);
    output.line(values.json ? JSON.stringify(report) : messageLines(report, nowMs).join('\n'));
    return 0;
  });
}

/** Throws `UsageError` when a text cannot name a message. */
export function assertName(id: string, help: string): void {
  if (ENTRY_NAME.test(id) || TRACE_NAME.test(id)) return;
  throw new UsageError(id === '' ? help : `"${id}" is no id of a message.\n\n${help}`);
}

/** The one message of a name; throws when there are several. */
export function oneOf<Name extends { shard: number; entry: string }>(
  names: readonly Name[],
  id: string,
): Name | undefined {
  if (names.length < 2) return names[0];
  const all = names.map(({ shard, entry }) => `${shard}/${entry}`).join(', ');
  throw new Error(`There are ${names.length} messages ${id}: say which one, ${all}.`);
}

/** What is said about a message that is not known. */
export function unknownMessage(id: string): string {
  return `Nothing is kept of a message ${id}. An id is an entry such as 1700000000000-0, a trace id of 32 hexadecimal digits, or the id of a dead letter; the ledger goes back 90 days.`;
}
