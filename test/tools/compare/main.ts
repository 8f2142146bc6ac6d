import type { FoundRedisServer } from '../../../shared/private-redis/install.ts';
import { freshRedis } from '../../fixture/redis.ts';
import { emptied } from '../bench/wire.ts';
import { findRedis, Refusal, runTool, say } from '../tool.ts';
import { CONTENDERS, type Contender } from './contender.ts';
import { FAULTS, playFault } from './faults.ts';
import type { Verdict } from './judge.ts';
import { memoryOver } from './soak.ts';
import { type Speed, speedOf } from './speed.ts';
import { type Compared, faultTable, speedTable } from './table.ts';

const ROUNDS = 3;
const OUTAGE_SECONDS = 90;
const HELP = `Usage: npm run compare [-- options]

Compares this gateway with two bots of an afternoon (test/tools/compare/plain*.ts: telegraf, the Anthropic SDK, history in Redis; one
with BullMQ between) on the same stand-ins, over loopback, on a private Redis. First ${ROUNDS} rounds of speed, the bots one after
another in each; then what is lost, doubled and out of order under faults. Prints tables in Markdown. Linux only; about half
an hour.

  --rounds N        rounds of speed, default ${ROUNDS}; 0 for none
  --only a,b        only these bots: ${CONTENDERS.map(({ name }) => name).join(', ')}
  --faults a,b      only faults whose names contain one of these words; none for none
  --outage SECONDS  how long Telegram and the model are away, default ${OUTAGE_SECONDS}
  --soak MINUTES    only says how much memory each bot has, minute by minute, with five messages a second`;

const OPTIONS = {
  rounds: { type: 'string', default: String(ROUNDS) },
  only: { type: 'string' },
  faults: { type: 'string' },
  outage: { type: 'string', default: String(OUTAGE_SECONDS) },
  soak: { type: 'string', default: '0' },
} as const;

await runTool(HELP, OPTIONS, async (values) => {
  const [rounds = 0, outageSeconds = 0, soakMinutes = 0] = [values.rounds, values.outage, values.soak].map(Number);
  const named = values.only?.split(',') ?? CONTENDERS.map(({ name }) => name);
  const contenders = CONTENDERS.filter(({ name }) => named.includes(name));
  const faults = FAULTS.filter(({ name }) => values.faults?.split(',').some((word) => name.includes(word)) ?? true);
  if (!Number.isInteger(rounds) || rounds < 0) throw new Refusal('--rounds is a whole number.');
  if (!(outageSeconds > 0 && soakMinutes >= 0)) throw new Refusal('--outage and --soak are numbers.');
  if (contenders.length < named.length) throw new Refusal(`Not all of these are bots: ${named.join(', ')}.`);
  const server = await findRedis();
  if (soakMinutes > 0) return soak(contenders, soakMinutes);
  const speeds = rounds > 0 ? await compareSpeed(contenders, rounds) : {};
  if (rounds > 0) say(`${speedTable({ speeds })}\n`);
  const played = await playFaults(faults, contenders, { server, outageMs: outageSeconds * 1_000 });
  if (played.length > 0) say(faultTable({ faults: played }));
});

async function playFaults(
  faults: typeof FAULTS,
  contenders: readonly Contender[],
  on: { server: FoundRedisServer; outageMs: number },
): Promise<Compared['faults']> {
  const played: { fault: string; verdicts: Record<string, Verdict> }[] = [];
  for (const fault of faults) {
    const verdicts: Record<string, Verdict> = {};
    for (const contender of contenders) verdicts[contender.name] = await playFault(fault, contender, on);
    played.push({ fault: fault.name, verdicts });
  }
  return played;
}

/** The bots one after another in each round, so that what the machine does meanwhile meets all of them. */
async function compareSpeed(contenders: readonly Contender[], rounds: number): Promise<Record<string, Speed[]>> {
  const speeds: Record<string, Speed[]> = Object.fromEntries(contenders.map(({ name }) => [name, []]));
  await onRedis(async (url) => {
    for (let round = 0; round < rounds; round++)
      for (const contender of contenders) {
        await emptied(url);
        speeds[contender.name]?.push(await speedOf(contender, url));
      }
  });
  return speeds;
}

async function soak(contenders: readonly Contender[], soakMinutes: number): Promise<void> {
  await onRedis(async (url) => {
    for (const contender of contenders) {
      await emptied(url);
      for await (const { minute, megabytes } of memoryOver(contender, url, soakMinutes))
        say(`${contender.name}  minute ${minute}  ${megabytes.toFixed(0)} MB`);
    }
  });
}

/** Does something on a private Redis. */
async function onRedis(work: (url: string) => Promise<void>): Promise<void> {
  const redis = await freshRedis({ fsync: 'everysec' });
  await work(redis.socketUrl).finally(() => redis.stop());
}
