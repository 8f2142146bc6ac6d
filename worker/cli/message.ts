import { keysOf } from '../../shared/redis/keys.ts';
import { readMessage } from '../report/message.ts';
import { TRACE_NAME } from '../report/message-name.ts';
import { nowOf } from '../report/source.ts';
import { withRedis } from './connection.ts';
import { messageLines } from './message-text.ts';
import { assertName, namedMessage, unknownMessage } from './named-message.ts';
import { readOptions } from './options.ts';
import type { Terminal } from './terminal.ts';

const HELP = `Usage: npm run cli -- message <id> [--json]

The life of one message: where it is now and since when, what happened to it, and what can be done. An id is an entry
(1700000000000-0, or 1/1700000000000-0 where several shards have the same), a trace id (32 hexadecimal digits), or the id
of a dead letter, as alerts, the log and "dead list" have them. Shows no words of anybody. The turn of a message is kept
for an hour after its outcome, the ledger for LEDGER_RETENTION_DAYS, 90 unless it is set.
Exit code 0 when it is found, 1 when it is not, 2 for usage or configuration.

  npm run cli -- message 1700000000000-0
  npm run -s cli -- message 0af7651916cd43dd8448eb211c80319c --json | jq .place`;

/** Prints the life of a message; the exit code is 1 when nothing is known of it. */
export async function message(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readOptions(args, HELP, { words: 1 });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const [id = ''] = positionals;
  assertName(id, HELP);
  return withRedis(terminal, async (redis, shards) => {
    const source = { redis, shards };
    if (TRACE_NAME.test(id)) terminal.note('looking for the trace, from the newest message back');
    const report = await readMessage(source, await namedMessage(source, id));
    if (!report) throw unknownMessage(id);
    const nowMs = await nowOf(redis, keysOf(0).workers);
    terminal.line(values.json ? JSON.stringify(report) : messageLines(report, nowMs).join('\n'));
    return 0;
  });
}
