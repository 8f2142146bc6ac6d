import { utcTime } from '../../shared/base/utc-time.ts';
import { readActions } from '../operator/trail.ts';
import { withRedis } from './connection.ts';
import { readOptions, TEXT } from './options.ts';
import { type Terminal, UsageError } from './terminal.ts';

const HELP = `Usage: npm run cli -- actions [--limit N] [--json]

What operators did, the newest first: when, who, what, why. Each is written down before it is done; the newest 10,000 or
so are kept. Exit code 0, or 2 for usage or configuration.

  npm run cli -- actions --limit 10`;

const LIMIT_DEFAULT = 50;

/** Prints what operators did. */
export async function actions(args: string[], terminal: Terminal): Promise<number> {
  const { values } = readOptions(args, HELP, { options: { limit: TEXT } });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const limit = values.limit === undefined ? LIMIT_DEFAULT : Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000) throw new UsageError(HELP);
  return withRedis(terminal, async (redis) => {
    const kept = await readActions(redis, limit);
    if (values.json) terminal.line(JSON.stringify(kept));
    else if (kept.length === 0) terminal.line('Nothing was done yet.');
    else
      for (const { atMs, by, deed, target, why } of kept)
        terminal.line(`${utcTime(atMs)}  ${by}  ${deed} ${target}${why === '' ? '' : `  (${why})`}`);
    return 0;
  });
}
