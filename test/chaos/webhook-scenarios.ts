/** What can happen where Telegram delivers to several producers behind one address. */
import { startFront } from '../fixture/front.ts';
import { settledOutcomes } from '../fixture/ledger.ts';
import { portOf } from '../fixture/process.ts';
import { killGateway } from './gateway-scenarios.ts';
import { awaitAgain } from './hearing.ts';
import { PACE_MS, type Scenario, type Stage, untilShare } from './scenario.ts';
import { ASIDE, FIRST_CHAT } from './traffic.ts';

const CHATS = 10;
const GROUP = -100_500;
const BASIC = -600;
const PASTED = 6;
const PIECES = 3;
/** So many that each gateway gets some of either half. */
const AFTER_MOVE = 24;
const SETTLED_MS_MAX = 20_000;

let front: Awaited<ReturnType<typeof startFront>> | undefined;

/** The gateways that run take deliveries in turn. */
function balance({ world }: Stage): void {
  front?.behind(...world.fleet.running.map(portOf));
}

/** Somebody pastes a long text that mentions the bot: only its first piece is addressed. */
function paste({ world }: Stage, at: number): void {
  const by = { fromId: FIRST_CHAT + at };
  world.telegram.say(GROUP, `@${world.telegram.username} ${ASIDE} ${'x'.repeat(4_000)}`, by);
  world.telegram.say(GROUP, 'y'.repeat(4_096), by);
  world.telegram.say(GROUP, `${ASIDE} the end`, by);
}

/** How many messages of a chat have their outcome. */
async function settledIn({ world }: Stage, chat: number): Promise<number> {
  return (await settledOutcomes(world)).filter((record) => record.chat === String(chat)).length;
}

const balanced: Scenario = {
  name: 'webhook-behind-two',
  about:
    'Telegram delivers to two gateways in turn; long texts are pasted in a group, another group moves, one gateway is killed',
  traffic: { messages: 60, chats: CHATS },
  env: {
    TELEGRAM_ALLOWED_IDS: [...Array.from({ length: CHATS }, (_, at) => FIRST_CHAT + at), GROUP, BASIC].join(','),
  },
  // The gateway that is killed may have been sending the alert, which another then sends again.
  rules: { alertsMin: 1, alertsMax: 2 },
  async prepare() {
    const started = await startFront();
    front = started;
    return { env: started.env, remove: () => started.close() };
  },
  async play(stage) {
    const { world, traffic } = stage;
    for (const group of [GROUP, BASIC]) world.telegram.openChat(group, group === BASIC ? 'group' : 'supergroup');
    for (const group of [GROUP, BASIC]) world.telegram.setMembership(group, 'administrator');
    await Promise.all([world.fleet.start(), world.fleet.start()]);
    balance(stage);
    const pouring = traffic.pour({ everyMs: PACE_MS });
    const sinceMs = Date.now();
    for (let at = 0; at < PASTED; at++) paste(stage, at);
    const moved = world.telegram.migrate(BASIC);
    const sayHalf = () => {
      for (let nth = 0; nth < AFTER_MOVE / 2; nth++)
        world.telegram.say(moved, `@${world.telegram.username} ${ASIDE} after the move`, { fromId: FIRST_CHAT });
    };
    sayHalf();
    await untilShare(stage, 0.5);
    await killGateway(stage);
    balance(stage);
    sayHalf();
    await pouring;
    const pieces = { what: 'every piece of the pasted texts', maxMs: SETTLED_MS_MAX, sinceMs };
    await awaitAgain(stage, pieces, async () => (await settledIn(stage, GROUP)) === PASTED * PIECES);
    const afterMove = { what: 'every message after the move', maxMs: SETTLED_MS_MAX, sinceMs };
    await awaitAgain(stage, afterMove, async () => (await settledIn(stage, moved)) === AFTER_MOVE);
  },
};

/** Everything about deliveries to several producers. */
export const WEBHOOK_SCENARIOS: readonly Scenario[] = [balanced];
