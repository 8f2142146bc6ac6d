/** What can happen to the gateways: crashes, freezes, deploys, a message that kills whoever touches it. */
import { setTimeout as pause } from 'node:timers/promises';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { randomInt } from '../fixture/random.ts';
import { UNCLEAN_END } from './evidence.ts';
import { awaitAgain } from './hearing.ts';
import { midTraffic, PACE_MS, type Scenario, type Stage, until, untilShare } from './scenario.ts';
import { numberIn } from './traffic.ts';

const FROZEN_MS = 6_000;
const DEPLOYS = 5;

/** Kills one of the gateways that run, and starts another, as a supervisor does. */
export async function killGateway({ world, faults, random }: Stage): Promise<void> {
  const { running } = world.fleet;
  const victim = running[randomInt(random, running.length)];
  if (victim === undefined) return;
  await faults.during('gateway killed', ['send', 'overlap'], async () => {
    await world.fleet.kill(victim);
    await world.fleet.start();
  });
}

const killed: Scenario = {
  name: 'gateway-killed',
  about: 'two gateways under load; one of them is killed (SIGKILL) and replaced, four times',
  traffic: { messages: 200, chats: 20, kinds: 'mixed' },
  async play(stage) {
    const { world } = stage;
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    await midTraffic(stage, PACE_MS, () => killGateway(stage), [0.2, 0.4, 0.6, 0.8]);
  },
};

const frozen: Scenario = {
  name: 'gateway-frozen',
  about: 'a gateway is stopped (SIGSTOP) in the middle of its turns for longer than its lock; another takes them over',
  traffic: { messages: 12, chats: 12 },
  isInCut: true,
  async play({ world, traffic, faults }) {
    const seen = new Set<string>();
    // The first call for each message takes so long that it cannot end before the freeze.
    world.claude.react((call) => {
      if (seen.has(call.pendingText)) return undefined;
      seen.add(call.pendingText);
      return { do: 'answer', text: `<#${numberOf(call.pendingText)} 1/1> From the first.`, afterMs: 1_200 };
    });
    const first = await world.fleet.start();
    await traffic.pour();
    const busyChats = new Set(traffic.asked.map(({ chatId }) => chatId)).size;
    await until('a call in every chat', () => world.claude.inFlight() >= busyChats);
    // Not excused as a send whose result is unknown: it was frozen before it could send anything.
    await faults.during('gateway frozen', ['overlap'], async () => {
      first.kill('SIGSTOP');
      await world.fleet.start();
      await pause(FROZEN_MS);
      first.kill('SIGCONT');
    });
  },
};

const numberOf = (text: string): string => String(numberIn(text) ?? 0).padStart(6, '0');

const deployed: Scenario = {
  name: 'gateway-deployed',
  about: 'a new gateway starts and the old one is asked to end (SIGTERM), five times under load, with an overlap',
  traffic: { messages: 200, chats: 20, kinds: 'mixed' },
  // A turn that outlives the grace is handed back without using an attempt, once a deploy.
  rules: { callsMax: 9 + DEPLOYS },
  isInCut: true,
  async play(stage) {
    const { world, traffic, faults } = stage;
    await world.fleet.start();
    const pouring = traffic.pour({ everyMs: PACE_MS });
    for (let deploy = 1; deploy <= DEPLOYS; deploy++) {
      await untilShare(stage, deploy / (DEPLOYS + 1));
      // Whoever is asked to end has the time to end well; but with the short locks of a test, two gateways that start and
      // end on a busy machine can let one run out, and then a placeholder is sent again.
      await faults.during('deploy', ['send', 'overlap'], async () => {
        const old = world.fleet.running[0];
        await world.fleet.start();
        if (old) await world.fleet.retire(old);
      });
    }
    await pouring;
  },
};

const poison: Scenario = {
  name: 'gateway-poisoned',
  about: 'one message kills the gateway whenever the model is asked about it; the others must not suffer for it',
  traffic: { messages: 60, chats: 12 },
  rules: { unansweredMax: 1, alertsMin: 1, alertsMax: 1 },
  async play({ world, traffic, faults }) {
    await traffic.pour();
    const [poisoned] = traffic.asked;
    world.claude.react((call) => {
      if (poisoned === undefined || call.pendingText !== poisoned.text) return undefined;
      for (const gateway of world.fleet.running) gateway.kill('SIGKILL');
      return { do: 'hang' };
    });
    const isNotified = () => world.telegram.shown(poisoned?.chatId ?? 0).length > 0;
    await faults.during('poison', ['send', 'overlap'], async () => {
      while (!isNotified()) {
        // One that is killed before it says that it runs has died of the poison too.
        const gateway = await world.fleet.start().catch(() => undefined);
        if (gateway) await Promise.race([gateway.ended, until('the end of the poison', isNotified, 60_000)]);
      }
    });
    if (world.fleet.running.length === 0) await world.fleet.start();
  },
};

const LOOP_MS = 1_500;

const loopFrozen: Scenario = {
  name: 'gateway-loop-frozen',
  about:
    'the event loop of the only gateway stands still in the middle of its turns: it is ended from outside the loop, and its successor tells the operator',
  traffic: { messages: 40, chats: 10 },
  rules: { isEndTold: true },
  async play(stage) {
    const { world, traffic, faults } = stage;
    const gateway = await world.fleet.start({ TEST_FROZEN_MS: String(LOOP_MS) });
    const pouring = traffic.pour({ everyMs: PACE_MS });
    await untilShare(stage, 0.4);
    await faults.during('loop stands still', ['send', 'overlap'], async () => {
      gateway.kill('SIGUSR2');
      // A tick more than the limit, a stack and a note.
      const limit = { what: 'the end of a process that stands still', maxMs: 4 * LOOP_MS };
      await awaitAgain(stage, limit, () => !world.fleet.running.includes(gateway));
      await world.fleet.kill(gateway);
      await world.fleet.start();
    });
    await pouring;
    const isTold = () => world.telegram.shown(ALERT_CHAT).some(({ text }) => UNCLEAN_END.test(text));
    await until('word of the end', isTold).catch(() => {});
  },
};

/** Everything about the gateways as processes. */
export const GATEWAY_SCENARIOS: readonly Scenario[] = [killed, frozen, loopFrozen, deployed, poison];
