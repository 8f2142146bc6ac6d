import { SPAN } from '../../../shared/base/telemetry.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { until } from '../../fixture/root.ts';
import type { Ground } from './ground.ts';
import { about, type Hour, type Stage } from './hour.ts';
import { isRunning, type Jaeger } from './jaeger.ts';

const CHAT = 1591;
const MARK = '[killed]';
const TRACES = 20;

async function kill9All({ fleet }: Ground): Promise<number> {
  const running = [...fleet.running];
  await Promise.all(running.map((gateway) => fleet.kill(gateway)));
  return running.length;
}

/** Whichever process runs the message's turn is killed in the middle of it: after a tool, before the answer. */
async function killInTurn({ ground, jaeger }: Stage): Promise<void> {
  const rounds = callsTools([use('k1', 'look')]);
  const script = ground.react((call) => (about(call, MARK) ? rounds(call) : undefined));
  const stuck = ground.react((call) => (about(call, MARK) && resultsIn(call).length > 0 ? { do: 'hang' } : undefined));
  ground.telegram.say(CHAT, `${MARK} Are you still there?`);
  await ground.claude.waitForCall((call) => about(call, MARK) && resultsIn(call).length > 0, 20_000);
  if (jaeger) await until('turn that runs, in Jaeger', () => showsRunning(jaeger), 20_000);
  const killed = await kill9All(ground);
  stuck.end();
  for (let n = 0; n < killed; n++) await ground.fleet.start();
  await ground.untilOutcomes(CHAT, 1);
  script.end();
}

async function showsRunning(jaeger: Jaeger): Promise<true | undefined> {
  return (await jaeger.search('spillway', SPAN.started, TRACES)).some(isRunning) || undefined;
}

export const PROCESS_HOURS: readonly Hour[] = [
  {
    name: 'kill -9 of every process in the middle of a turn; others take its work over',
    fires: [],
    play: killInTurn,
  },
  {
    name: 'Redis is gone',
    fires: ['SpillwayRedisGone'],
    async play({ ground, untilFiring }) {
      ground.redis.kill9();
      await untilFiring(this.fires);
      await ground.redis.restart();
      await ground.untilQuiet();
    },
  },
  {
    name: 'the collector stands still',
    fires: ['SpillwayCollectorDown'],
    async play({ daemons, untilFiring }) {
      daemons.otelcol?.freeze();
      await untilFiring(this.fires);
      daemons.otelcol?.thaw();
    },
  },
  {
    name: 'kill -9 of every process, and nobody starts another',
    fires: ['SpillwayTelemetryGone'],
    async play({ ground, untilFiring }) {
      const killed = await kill9All(ground);
      await untilFiring(this.fires);
      for (let n = 0; n < killed; n++) await ground.fleet.start();
      await ground.untilQuiet();
    },
  },
];
