import { type ChatKey, parseChatKey } from '../../shared/redis/keys.ts';
import { EVERY_CHAT } from '../../shared/state/lane/pauses.ts';
import { pause as pauseAt, resume as resumeAt } from '../operator/pause.ts';
import { withRedis } from './connection.ts';
import { readOptions } from './options.ts';
import { ORDER_HELP, ORDER_OPTIONS, orderOf } from './order.ts';
import { type Terminal, UsageError } from './terminal.ts';

const PAUSE_HELP = `Usage: npm run cli -- pause [chat] [--why TEXT] [--by NAME] [--json]

Lets a chat rest, or without one every chat. Messages are accepted all the same and wait, commands too; what is being
answered now ends as it would. Nothing is lost, and nobody is told. A topic is a chat of its own.
${ORDER_HELP}
Exit code 0 when it is paused, also when it was before; 2 for usage or configuration.

  npm run cli -- pause 123456789 --why "asks in a loop"
  npm run cli -- pause --why "the provider's maintenance"`;

const RESUME_HELP = `Usage: npm run cli -- resume [chat] [--why TEXT] [--by NAME] [--json]

Ends the pause of a chat, or without one that of every chat: what waits is answered in order, within seconds. A chat that
was paused by itself stays so when every chat is resumed.
${ORDER_HELP}
Exit code 0 when it is resumed, 1 when it was not paused, 2 for usage or configuration.

  npm run cli -- resume 123456789
  npm run cli -- resume`;

/** Pauses a chat, or every chat. */
export async function pause(args: string[], terminal: Terminal): Promise<number> {
  return withChat(args, terminal, PAUSE_HELP, async (at, chat, order) => {
    const isNew = await pauseAt(at, chat, order);
    const words = isNew ? 'is paused: its messages wait' : 'was paused already';
    return { code: 0, result: isNew ? 'paused' : 'repeated', words: `${nameOf(chat)} ${words}.` };
  });
}

/** Ends a pause; the exit code is 1 when there was none. */
export async function resume(args: string[], terminal: Terminal): Promise<number> {
  return withChat(args, terminal, RESUME_HELP, async (at, chat, order) => {
    const wasPaused = await resumeAt(at, chat, order);
    const words = wasPaused ? 'goes on within seconds' : 'was not paused; "npm run cli -- status" names what is';
    return {
      code: wasPaused ? 0 : 1,
      result: wasPaused ? 'resumed' : 'not paused',
      words: `${nameOf(chat)} ${words}.`,
    };
  });
}

type Act = (
  at: Parameters<typeof pauseAt>[0],
  chat: ChatKey | typeof EVERY_CHAT,
  order: Parameters<typeof pauseAt>[2],
) => Promise<{ code: number; result: string; words: string }>;

async function withChat(args: string[], terminal: Terminal, help: string, act: Act): Promise<number> {
  const { values, positionals } = readOptions(args, help, { words: 1, options: ORDER_OPTIONS });
  if (values.help) {
    terminal.line(help);
    return 0;
  }
  const [name] = positionals;
  const chat = name === undefined ? EVERY_CHAT : parseChatKey(name)?.chat;
  if (chat === undefined) throw new UsageError(help);
  return withRedis(terminal, async (redis, shards) => {
    const { code, result, words } = await act({ redis, shards }, chat, orderOf(values));
    terminal.line(values.json ? JSON.stringify({ chat, result }) : words);
    return code;
  });
}

function nameOf(chat: ChatKey | typeof EVERY_CHAT): string {
  return chat === EVERY_CHAT ? 'Every chat' : `Chat ${chat}`;
}
