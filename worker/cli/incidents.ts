import { utcTime } from '../../shared/base/utc-time.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { type IncidentReport, readIncidents } from '../report/incidents.ts';
import { nowOf } from '../report/source.ts';
import { inWords } from '../report/words.ts';
import { withRedis } from './connection.ts';
import { FLAG, readOptions } from './options.ts';
import type { Terminal } from './terminal.ts';

const HELP = `Usage: npm run cli -- incidents [--open] [--json]

The incidents that are open, and those that ended within the hour (--open leaves these out): the cause, which is a heading
of the runbook, since when, how many messages and chats, the newest occurrence, and what to do.
Exit code 0 when none is open, 1 when one is, 2 for usage or configuration.

  npm run cli -- incidents
  npm run -s cli -- incidents --open --json | jq -r '.[].name'`;

/** Prints the incidents; the exit code is 1 when one is open. */
export async function incidents(args: string[], terminal: Terminal): Promise<number> {
  const { values } = readOptions(args, HELP, { options: { open: FLAG } });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  return withRedis(terminal, async (redis, shards) => {
    const all = await readIncidents({ redis, shards });
    const shown = all.filter(({ isOpen }) => isOpen || !values.open);
    const nowMs = await nowOf(redis, keysOf(0).workers);
    if (values.json) terminal.line(JSON.stringify(shown));
    else if (shown.length === 0) terminal.line('No incident is open.');
    else for (const incident of shown) terminal.line(`${linesOf(incident, nowMs).join('\n')}\n`);
    return all.some(({ isOpen }) => isOpen) ? 1 : 0;
  });
}

function linesOf(incident: IncidentReport, nowMs: number): string[] {
  const { name, cause, title, isOpen, sinceMs, endedMs, lastMs, count, chats, chatNames, latest, todo, traceId } =
    incident;
  const state = isOpen ? `OPEN for ${inWords(nowMs - sinceMs)}` : `ended ${inWords(nowMs - (endedMs ?? lastMs))} ago`;
  const more = chats > chatNames.length ? ', …' : '';
  const named = chatNames.length === 0 ? '' : `: ${chatNames.join(', ')}${more}`;
  return [
    `${name}: ${title}. ${state}, since ${utcTime(sinceMs)}`,
    `  messages ${count}, chats ${chats}${named}`,
    `  latest: ${latest}`,
    `  do: ${`${todo} Runbook: ${cause}`.trim()}`,
    ...(traceId === undefined ? [] : [`  first: npm run cli -- message ${traceId}`]),
  ];
}
