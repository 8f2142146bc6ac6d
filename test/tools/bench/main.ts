import { resolve } from 'node:path';
import { freshRedis } from '../../fixture/redis.ts';
import { findRedis, Refusal, runTool, say } from '../tool.ts';
import { lineOf, takeRounds } from './figure.ts';
import { MEASURES } from './figures.ts';
import { commandsOfATurn } from './round-trips.ts';

const ROUNDS = 3;
const HELP = `Usage: npm run bench [-- options]

Measures this machine, on a private Redis (AOF everysec) with real BullMQ: each figure in ${ROUNDS} rounds, of which it prints
the median and the spread. Read the ratios, not the rates: a machine is noisy, and both sides of a ratio share a round.
Linux only. It takes about twenty minutes.

  --only a,b      only these: ${MEASURES.map(({ name }) => name).join(', ')}
  --rounds N      default ${ROUNDS}
  --before DIR    also measures the version in this folder (a checkout with its node_modules) beside this one`;

const OPTIONS = {
  only: { type: 'string' },
  rounds: { type: 'string', default: String(ROUNDS) },
  before: { type: 'string' },
} as const;

await runTool(HELP, OPTIONS, async (values) => {
  const chosen = values.only?.split(',') ?? MEASURES.map(({ name }) => name);
  const unknown = chosen.filter((name) => !MEASURES.some((measure) => measure.name === name));
  const rounds = Number(values.rounds);
  if (unknown.length > 0) throw new Refusal(`Nothing is named ${unknown.join(', ')}.`);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Refusal('--rounds is a whole number from 1.');
  await findRedis();
  const redis = await freshRedis({ fsync: 'everysec' });
  try {
    const ground = { redisUrl: redis.socketUrl, before: values.before && resolve(values.before) };
    const measures = MEASURES.filter(({ name, isPossible }) => chosen.includes(name) && isPossible?.(ground) !== false);
    for (const measure of measures) {
      const { results, behind } = await takeRounds(measure, ground, rounds);
      for (const result of results) say(lineOf(result));
      const numbers = Object.entries(behind).map(([name, value]) => `${name} ${value.toPrecision(3)}`);
      if (numbers.length > 0) say(`         ${numbers.join(', ')}`);
      if (measure.name === 'round-trips') say(`         ${(await commandsOfATurn(redis.socketUrl)).join(', ')}`);
    }
  } finally {
    await redis.stop();
  }
});
