import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../shared/base/config.ts';
import type { ReportSource } from '../report/source.ts';
import { readStatus } from '../report/status.ts';
import { withRedis } from './connection.ts';
import { FLAG, readOptions, TEXT } from './options.ts';
import { statusLines } from './status-text.ts';
import { type Terminal, UsageError, usableConfig } from './terminal.ts';

const HELP = `Usage: npm run cli -- status [--watch [--every SECONDS]] [--json]

The state of everything on one screen. The first line says green, yellow or red, and why; starting\nwhile a process has just been started. Red: somebody must act now; yellow: somebody should look today. Reads only.
--watch shows it anew every two seconds until Ctrl-C; with --json it prints one line each time.
Exit code 0 when green, yellow or starting, 1 when red or when Redis does not answer, 2 for usage or configuration.

  npm run cli -- status
  npm run -s cli -- status --json | jq .troubles`;

const EVERY_S_DEFAULT = 2;
const DEADLINE_MS = 10_000;
/** Home, and erase to the end of each line and of the screen: nothing flickers. */
const HOME = '\x1b[H';
const ERASE_LINE = '\x1b[K\n';
const ERASE_BELOW = '\x1b[J';

/** Prints the state of everything; the exit code is 1 when it is red. */
export async function status(args: string[], terminal: Terminal): Promise<number> {
  const { values } = readOptions(args, HELP, { options: { watch: FLAG, every: TEXT } });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const everyMs = everyMsOf(values.every as string | undefined);
  const { config } = usableConfig(terminal, 'tool');
  return withRedis(terminal, async (redis, shards) => {
    const source = { redis, shards };
    if (!values.watch) return show(source, config, terminal, values.json === true);
    while (terminal.isRead()) {
      await show(source, config, values.json ? terminal : inPlace(terminal), values.json === true).catch(
        (error: Error) => terminal.line(`RED  ${error.message}`),
      );
      await pause(everyMs);
    }
    return 0;
  });
}

async function show(source: ReportSource, config: Config, terminal: Terminal, isJson: boolean): Promise<number> {
  const now = await within(readStatus(source, config));
  terminal.line(isJson ? JSON.stringify(now) : statusLines(now).join('\n'));
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

function everyMsOf(text: string | undefined): number {
  const seconds = text === undefined ? EVERY_S_DEFAULT : Number(text);
  if (!(seconds >= 1 && seconds <= 3600)) throw new UsageError('--every is a number of seconds, from 1 to 3600.');
  return seconds * 1000;
}
