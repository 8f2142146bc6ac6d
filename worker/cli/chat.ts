import { keysOf, parseChatKey } from '../../shared/redis/keys.ts';
import { readChat } from '../report/chat.ts';
import { nowOf } from '../report/source.ts';
import { chatLines } from './chat-text.ts';
import { withRedis } from './connection.ts';
import { readOptions } from './options.ts';
import { type Terminal, UsageError } from './terminal.ts';

const HELP = `Usage: npm run cli -- chat <chat> [--json]

The state of one chat: its lane, its session, what it spent today, its newest outcomes, dead letters, reminders, and
whether it is paused. Shows no words of anybody. A chat is its numeric id, with .<topic> where it has topics.
Exit code 0 when it is known, 1 when it is not, 2 for usage or configuration.

  npm run cli -- chat 123456789
  npm run cli -- chat -1001234567890.7`;

/** Prints the state of a chat; the exit code is 1 when nothing is known of it. */
export async function chat(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readOptions(args, HELP, { words: 1 });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const parsed = parseChatKey(positionals[0] ?? '');
  if (!parsed) throw new UsageError(HELP);
  return withRedis(terminal, async (redis, shards) => {
    const report = await readChat({ redis, shards }, parsed.chat);
    if (!report)
      throw new Error(`Nothing is known of a chat ${parsed.chat}. A chat is its numeric id, as alerts have it.`);
    const nowMs = await nowOf(redis, keysOf(0).workers);
    terminal.line(values.json ? JSON.stringify(report) : chatLines(report, nowMs).join('\n'));
    return 0;
  });
}
