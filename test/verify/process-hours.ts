import type { GatewayProcess } from '../fixture/process.ts';
import { about } from './about.ts';
import type { Ground } from './ground.ts';
import type { Hour } from './hour.ts';

const CHAT = 1591;
const MARK = '[killed]';
const ANSWER_MS = 3_000;

async function kill9All(ground: Ground): Promise<number> {
  const running: GatewayProcess[] = [...ground.gateways];
  await Promise.all(running.map((gateway) => ground.kill9(gateway)));
  return running.length;
}

/** Whichever process runs the message's turn is killed in the middle of it. */
async function killInTurn(ground: Ground): Promise<void> {
  const slowly = ground.react((call) => (about(call, MARK) ? { do: 'answer', afterMs: ANSWER_MS } : undefined));
  ground.telegram.say(CHAT, `${MARK} Are you still there?`);
  await ground.claude.waitForCall((call) => about(call, MARK), 20_000);
  const killed = await kill9All(ground);
  for (let n = 0; n < killed; n++) await ground.start();
  await ground.untilOutcomes(CHAT, 1);
  slowly.end();
}

export const PROCESS_HOURS: readonly Hour[] = [
  {
    name: 'kill -9 of every process in the middle of a turn; others take its work over',
    fires: [],
    play: ({ ground }) => killInTurn(ground),
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
      for (let n = 0; n < killed; n++) await ground.start();
      await ground.untilQuiet();
    },
  },
];
