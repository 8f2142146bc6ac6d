import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { provideRedis } from '../../shared/app/find-redis.ts';
import { programPath } from '../../shared/base/config.ts';
import { PROJECT_ROOT, refuse } from '../../shared/base/project.ts';
import { hearing } from './hearing.ts';
import { bareBullmq, latency, roundTrips, stageTwo, turns, viewing } from './measures.ts';

const HELP = `Usage: npm run bench [-- --json]

Measures this machine, in one run, on a private Redis (AOF everysec) with real BullMQ; the model and Telegram answer at
once inside the process. The last two figures are of real processes. Read the ratio, not the rates: a machine is noisy,
and both sides of the ratio share the run.`;

const JOBS = 6_000;
const MESSAGES = 4_000;
const CHATS = 100;
const DEAF_MS = 3_000;
/** About 4 MB of the incident's session. */
const VIEWED_RECORDS = 1_800;

/** A figure beside its aim. */
interface Row {
  name: string;
  value: string;
  aim: string;
  met: boolean;
}

const { values } = parseArgs({ options: { json: { type: 'boolean' }, help: { type: 'boolean' } } });
if (values.help) process.stdout.write(`${HELP}\n`);
else await bench(values.json === true);

async function bench(json: boolean): Promise<void> {
  const redis = await provideRedis({
    root: PROJECT_ROOT,
    path: programPath(),
    dir: await mkdtemp(join(tmpdir(), 'spillway-bench-')),
    fsync: 'everysec',
    keep: false,
  });
  if (!redis.ok) return refuse([redis.problem]);
  try {
    const measured = await measure(redis.url);
    process.stdout.write(json ? `${JSON.stringify(measured, null, 2)}\n` : table(rowsOf(measured), measured.commands));
  } finally {
    await redis.stop();
  }
}

async function measure(url: string) {
  await bareBullmq(url, JOBS / 4);
  await turns(url, MESSAGES / 4, CHATS);
  const bare = [await bareBullmq(url, JOBS), await bareBullmq(url, JOBS)];
  const complete = [await turns(url, MESSAGES, CHATS), await turns(url, MESSAGES, CHATS)];
  const barePerSecond = (Math.min(...bare) + Math.max(...bare)) / 2;
  const turnsPerSecond = (Math.min(...complete) + Math.max(...complete)) / 2;
  const waits = await latency(url, 20, 15);
  const stage2 = await stageTwo(url, 5);
  const viewed = await viewing(VIEWED_RECORDS, 200);
  const commands = await roundTrips(url);
  const hears = await hearing(url);
  return {
    barePerSecond,
    turnsPerSecond,
    ratio: turnsPerSecond / barePerSecond,
    ...waits,
    stage2,
    ...viewed,
    ...hears,
    roundTrips: commands.length,
    commands,
  };
}

type Measured = Awaited<ReturnType<typeof measure>>;

function rowsOf(measured: Measured): Row[] {
  const { ratio, turnsPerSecond, barePerSecond, p50Ms, p99Ms, stage2, roundTrips: trips } = measured;
  const { readyMs, takeoverMs, viewMs, viewBytes } = measured;
  const megabytes = stage2.bytesRead / 1e6;
  return [
    {
      name: `complete turns over bare BullMQ, ${CHATS} chats`,
      value: `${ratio.toFixed(2)} (${turnsPerSecond.toFixed(0)}/s over ${barePerSecond.toFixed(0)}/s)`,
      aim: 'at least 0.5',
      met: ratio >= 0.5,
    },
    { name: 'accept -> model request at 20/s, p50', value: `${p50Ms.toFixed(1)} ms`, aim: '-', met: true },
    {
      name: 'accept -> model request at 20/s, p99',
      value: `${p99Ms.toFixed(1)} ms`,
      aim: 'at most 10 ms',
      met: p99Ms <= 10,
    },
    {
      name: 'stage 2 on the 35 MB session, median',
      value: `${stage2.medianMs.toFixed(1)} ms`,
      aim: 'at most 20 ms',
      met: stage2.medianMs <= 20,
    },
    {
      name: 'stage 2 on the 35 MB session, read',
      value: `${megabytes.toFixed(2)} MB`,
      aim: 'at most 1 MB',
      met: megabytes <= 1,
    },
    {
      name: `view of ${(viewBytes / 1e6).toFixed(1)} MB, median`,
      value: `${viewMs.toFixed(1)} ms`,
      aim: 'at most 5 ms',
      met: viewMs <= 5,
    },
    { name: 'Redis round trips of a plain turn', value: String(trips), aim: 'at most 12', met: trips <= 12 },
    {
      name: 'start of a quiet bot -> ready',
      value: `${readyMs.toFixed(0)} ms`,
      aim: `at most ${DEAF_MS} ms`,
      met: readyMs <= DEAF_MS,
    },
    {
      name: 'kill -9 of the poller -> next poll',
      value: `${takeoverMs.toFixed(0)} ms`,
      aim: `at most ${DEAF_MS} ms`,
      met: takeoverMs <= DEAF_MS,
    },
  ];
}

function table(rows: readonly Row[], commands: readonly string[]): string {
  const lines = rows.map(
    ({ name, value, aim, met }) => `${met ? 'ok    ' : 'MISSED'} ${name.padEnd(48)} ${value.padEnd(28)} ${aim}`,
  );
  return `${lines.join('\n')}\n\nThe round trips: ${commands.join(', ')}\n`;
}
