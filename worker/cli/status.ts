import { setTimeout as pause } from 'node:timers/promises';
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
  const now = await within(readStatus(ground, ground.config));
  terminal.line(isJson ? JSON.stringify(now) : textOf(statusReport(now)));
  return now.colour === 'red' ? 1 : 0;
}

/** The connection waits for a Redis that is away, and an operator does not. */
async function within<T>(work: Promise<T>): Promise<T> {
  const late = new AbortController();
  const isLate = pause(DEADLINE_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error(`Redis does not answer within ${DEADLINE_MS / 1000} s.`);
  });
  try {
    return await Promise.race([work, isLate]);
  } finally {
    isLate.catch(() => {});
    late.abort();
  }
}

function inPlace(terminal: Terminal): Terminal {
  return {
    ...terminal,
    line: (text) => terminal.line(`${HOME}${text.replaceAll('\n', ERASE_LINE)}${ERASE_LINE}${ERASE_BELOW}`),
  };
}
