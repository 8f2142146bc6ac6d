import { type Retried, retryMessage } from '../operator/retry.ts';
import { withRedis } from './connection.ts';
import { assertName, namedMessage } from './named-message.ts';
import { readOptions } from './options.ts';
import { ORDER_HELP, ORDER_OPTIONS, orderOf } from './order.ts';
import type { Terminal } from './terminal.ts';

const HELP = `Usage: npm run cli -- retry <id> [--why TEXT] [--by NAME] [--json]

Tries a message again now: one that was put off does not wait any longer, one that failed comes back to the end of its
chat's lane as a new entry. An id is as for "message".
${ORDER_HELP}
Exit code 0 when it is tried again or under way, 1 when it cannot be, 2 for usage or configuration.

  npm run cli -- retry 1700000000000-0 --why "the provider is back"`;

/** Tries a message again; the exit code is 1 when there is nothing to try. */
export async function retry(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readOptions(args, HELP, { words: 1, options: ORDER_OPTIONS });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const [id = ''] = positionals;
  assertName(id, HELP);
  return withRedis(terminal, async (redis, shards) => {
    const at = { redis, shards };
    const name = await namedMessage(at, id);
    const result = await retryMessage(at, name, orderOf(values));
    terminal.line(
      values.json ? JSON.stringify({ entry: name.entry, ...result }) : `Message ${name.entry} ${wordsOf(result)}.`,
    );
    return ['now', 'replayed', 'under way'].includes(result.kind) ? 0 : 1;
  });
}

function wordsOf(result: Retried): string {
  switch (result.kind) {
    case 'now':
      return 'does not wait any longer: it is tried now';
    case 'replayed':
      return `is back at the end of its lane as ${result.entry}`;
    case 'under way':
      return result.isPaused ? 'waits in a paused chat: resume it first' : 'is under way already';
    case 'ended':
      return `has ended: ${result.outcome}. Nothing is kept of it that could be tried again`;
    case 'gone':
      return 'was put back or removed meanwhile';
    case 'chatless':
      return 'names no chat, so nobody can be answered';
    case 'unknown':
      return 'is not known any more';
  }
}
