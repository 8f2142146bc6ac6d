import { expect, test } from '@jest/globals';
import { SCENARIOS } from '../chaos/catalogue.ts';
import { violationLines } from '../chaos/report.ts';
import { runScenario } from '../chaos/scenario.ts';
import { redisServer } from '../fixture/redis.ts';

/** The whole suite is `npm run chaos`; these scenarios are its cut for every day, always with the same seed. */
const SEED = 20_261_122;
const PATIENCE_MS = 60_000;
const SCENARIO_MS = 120_000;

const cut = SCENARIOS.filter(({ isInCut }) => isInCut);

test.each(cut.map((scenario) => [scenario.name, scenario.about, scenario] as const))(
  '%s: %s',
  async (_name, _about, scenario) => {
    const result = await runScenario(redisServer(), scenario, SEED, PATIENCE_MS);
    if (result.violations.length > 0) throw new Error(violationLines(result).join('\n'));
    expect(result.messages).toBeGreaterThanOrEqual(scenario.traffic.messages);
  },
  SCENARIO_MS,
);
