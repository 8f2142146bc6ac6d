/** What can happen on the way of an alert. */
import { setTimeout as pause } from 'node:timers/promises';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { brownOut, KEY_REFUSED } from './claude-scenarios.ts';
import { killGateway } from './gateway-scenarios.ts';
import { PACE_MS, type Scenario, type Stage, until, untilShare } from './scenario.ts';

const MANY = 1_000_000;
const UNAUTHORIZED = 401;
const OUTAGE_MS = 3_000;
const TOLD_MS = 30_000;
/** Telegram's own word about one chat: a page or a 5xx would be an outage, in which no alert is tried. */
const KICKED = { status: 403, description: 'Forbidden: bot was kicked from the supergroup chat' } as const;

/** Refuses the key for a while, so that there is something to tell. */
function refuseKey(stage: Stage): Promise<void> {
  return brownOut(stage, 'key refused', OUTAGE_MS, () => ({
    do: 'error',
    status: UNAUTHORIZED,
    type: 'authentication_error',
    message: 'invalid x-api-key',
  }));
}

async function isOpen({ world }: Stage): Promise<boolean> {
  const incident = await world.peek.hget(world.keys.incidents, 'incident:provider');
  return (JSON.parse(incident ?? '{"isOpen":true}') as { isOpen: boolean }).isOpen;
}

const operatorAway: Scenario = {
  name: 'alerts-refused',
  about:
    "the operator's chat takes nothing while the key is refused, and the gateways are killed meanwhile: the alert comes when the chat is back",
  traffic: { messages: 80, chats: 16 },
  rules: { refusals: [UNAUTHORIZED], alertsMin: 1, alertsMax: 3, alertLike: KEY_REFUSED },
  async play(stage) {
    const { world, traffic, faults } = stage;
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    const pouring = traffic.pour({ everyMs: PACE_MS });
    await untilShare(stage, 0.3);
    const isAlert = ({ chat_id: chat }: Readonly<Record<string, unknown>>) => Number(chat) === ALERT_CHAT;
    world.telegram.fail('sendMessage', KICKED, MANY, isAlert);
    await faults.during('operator away', [], async () => {
      await refuseKey(stage);
      await until('a refused alert', async () => (await world.peek.hget(world.keys.alerting, 'tries')) !== null);
      await killGateway(stage);
      await killGateway(stage);
      await pouring;
      // The end is refused, too: otherwise the chat would get it whatever became of the alert before.
      await until('the end of the incident', async () => !(await isOpen(stage)), TOLD_MS);
      await pause(OUTAGE_MS);
      world.telegram.heal();
    });
    // The judge decides what it means if nothing comes.
    await until('the alert', () => world.telegram.shown(ALERT_CHAT).length > 0, TOLD_MS).catch(() => undefined);
  },
};

/** Everything about alerts. */
export const ALERT_SCENARIOS: readonly Scenario[] = [operatorAway];
