import { type ChatKey, parseChatKey } from '../../shared/redis/keys.ts';
import { type Cancelled, cancelChat, cancelMessage } from '../operator/cancel.ts';
import type { Installation } from '../operator/pause.ts';
import type { Order } from '../operator/trail.ts';
import { withRedis } from './connection.ts';
import { assertName, namedMessage } from './named-message.ts';
import { readOptions } from './options.ts';
import { ORDER_HELP, ORDER_OPTIONS, orderOf } from './order.ts';
import type { Terminal } from './terminal.ts';

const HELP = `Usage: npm run cli -- cancel <id>|<chat> [--why TEXT] [--by NAME] [--json]

Of a chat: ends what runs and what waits, as its user's /stop does, and by the same way: a message of its own, which is
settled like any other; the chat reads that it was stopped. Of one message: ends that one alone, and its user is told. An
id is as for "message". In a paused chat both take effect when it is resumed.
${ORDER_HELP}
Exit code 0 when it is cancelled, also when it was before; 1 when there is nothing to cancel; 2 for usage.

  npm run cli -- cancel 1700000000000-0 --why "hangs in a tool"
  npm run cli -- cancel -1001234567890`;

const WORDS: Readonly<Record<Cancelled | 'idle', string>> = {
  cancelled: 'is cancelled: what runs ends within seconds, what waits in its turn',
  repeated: 'was cancelled already',
  gone: 'has ended; nothing is to be cancelled',
  answered: 'is answered: the answer is being delivered, and is not taken back',
  command: 'is a command that cancels others itself; it is carried out',
  merged: 'went into the message before it, and ends with that one: cancel that, or the chat',
  idle: 'waits for nothing',
};
const DONE: ReadonlySet<string> = new Set(['cancelled', 'repeated']);

interface Result {
  kind: Cancelled | 'idle';
  what: string;
}

/** Cancels one message, or all that a chat waits for; the exit code is 1 when there was nothing to cancel. */
export async function cancel(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readOptions(args, HELP, { words: 1, options: ORDER_OPTIONS });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const [name = ''] = positionals;
  const chat = parseChatKey(name)?.chat;
  if (!chat) assertName(name, HELP);
  return withRedis(terminal, async (redis, shards) => {
    const at = { redis, shards };
    const { kind, what } = chat ? await ofChat(at, chat, orderOf(values)) : await ofMessage(at, name, orderOf(values));
    terminal.line(values.json ? JSON.stringify({ target: name, result: kind }) : `${what} ${WORDS[kind]}.`);
    return DONE.has(kind) ? 0 : 1;
  });
}

async function ofChat(at: Installation, chat: ChatKey, order: Order): Promise<Result> {
  return { kind: await cancelChat(at, chat, order), what: `Chat ${chat}` };
}

async function ofMessage(at: Installation, id: string, order: Order): Promise<Result> {
  const name = await namedMessage(at, id);
  return { kind: await cancelMessage(at, name, order), what: `Message ${name.entry}` };
}
