import { pause, within } from '../../shared/base/lifecycle.ts';
import { readStatus, statusReport } from '../report/status.ts';
import type { Terminal } from './terminal.ts';
import { textOf } from './text.ts';
import { type Call, type Ground, withRedis } from './verb.ts';

const EVERY_S_DEFAULT = 2;
const DEADLINE_MS = 10_000;
/** Home, and erase to the end of each line and of the screen: nothing flickers. */
const HOME = '\x1b[H';
const ERASE_LINE = '\x1b[K\n';
const ERASE_BELOW = '\x1b[J';

/** Prints the state of everything; the exit code is 1 when it is red. */
export async function status({ options, isJson, terminal }: Call): Promise<number> {
  const everyMs = Number(options.every ?? EVERY_S_DEFAULT) * 1000;
  return withRedis(terminal, async (ground) => {
    if (options.watch === undefined) return show(ground, terminal, isJson);
    while (terminal.isRead()) {
      await show(ground, isJson ? terminal : inPlace(terminal), isJson).catch((error: Error) =>
        terminal.line(`RED  ${error.message}`),
      );
      await pause(everyMs);
    }
    return 0;
  });
}

async function show(ground: Ground, terminal: Terminal, isJson: boolean): Promise<number> {
  // The connection waits for a Redis that is away, and an operator does not.
  const now = await within(readStatus(ground, ground.config), DEADLINE_MS);
  if (now === undefined) throw new Error(`Redis does not answer within ${DEADLINE_MS / 1000} s.`);
  terminal.line(isJson ? JSON.stringify(now) : textOf(statusReport(now)));
  return now.colour === 'red' ? 1 : 0;
}

function inPlace(terminal: Terminal): Terminal {
  return {
    ...terminal,
    line: (text) => terminal.line(`${HOME}${text.replaceAll('\n', ERASE_LINE)}${ERASE_LINE}${ERASE_BELOW}`),
  };
}
