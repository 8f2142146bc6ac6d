/** What can happen to the clock of a gateway's machine. */
import { join } from 'node:path';
import { portOf } from '../fixture/process.ts';
import { brownOut, TRANSIENT } from './claude-scenarios.ts';
import { PACE_MS, type Scenario, type Stage, untilShare } from './scenario.ts';

const HOUR_MS = 3_600_000;
const WRONG_MS = 3_000;
/** The first two waits of a message last longer than this together. */
const WAITS_MS = 4_500;

/** The operator is told of the clock, once. */
const TOLD = { alertsMin: 1, alertsMax: 1, alertLike: /[Cc]lock/ };

function envOf(jumpMs: number): Record<string, string> {
  return { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'clock.ts')}`, CHAOS_CLOCK_JUMP_MS: String(jumpMs) };
}

/** Two gateways; the clock of one, which runs on, is wrong for three seconds, while one of three model calls fails. */
async function jump(stage: Stage, byMs: number): Promise<void> {
  const { world, traffic, faults, random } = stage;
  const [wrong] = await Promise.all([world.fleet.start(envOf(byMs)), world.fleet.start()]);
  const pouring = traffic.pour({ everyMs: PACE_MS });
  await untilShare(stage, 0.3);
  await faults.during('clock wrong', [], async () => {
    wrong.kill('SIGURG');
    await brownOut(stage, 'brownout', WRONG_MS, () => (random() < 0.33 ? TRANSIENT[0] : undefined));
    await fetch(`http://127.0.0.1:${portOf(wrong)}/healthz`, { signal: AbortSignal.timeout(WRONG_MS) });
    wrong.kill('SIGURG');
  });
  await pouring;
}

const ahead: Scenario = {
  name: 'clock-ahead',
  about: 'the clock of one of two gateways is an hour ahead for 3 seconds, while calls of the model fail',
  traffic: { messages: 120, chats: 20 },
  rules: TOLD,
  play: (stage) => jump(stage, HOUR_MS),
};

const behind: Scenario = {
  name: 'clock-behind',
  about: 'the clock of one of two gateways is 25 hours behind for 3 seconds, while calls of the model fail',
  traffic: { messages: 120, chats: 20 },
  rules: TOLD,
  play: (stage) => jump(stage, -25 * HOUR_MS),
};

const waits: Scenario = {
  name: 'clock-behind-waits',
  about: 'the clock of one of two gateways is an hour behind all the time, while two of three calls of the model fail',
  traffic: { messages: 50, chats: 50 },
  // The waits between them leave room for no more, if nobody cuts them short.
  rules: { callsMax: 3, ...TOLD },
  async play(stage) {
    const { world, traffic, random } = stage;
    const [wrong] = await Promise.all([world.fleet.start(envOf(-HOUR_MS)), world.fleet.start()]);
    wrong.kill('SIGURG');
    const over = brownOut(stage, 'brownout', WAITS_MS, () => (random() < 0.65 ? TRANSIENT[0] : undefined));
    await traffic.pour({ everyMs: PACE_MS });
    await over;
  },
};

/** Everything about clocks. */
export const CLOCK_SCENARIOS: readonly Scenario[] = [ahead, behind, waits];
