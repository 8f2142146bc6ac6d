/** What can happen to Telegram. */
import { setTimeout as pause } from 'node:timers/promises';
import { bindReplay } from '../../shared/state/lane/dead-letters.ts';
import { randomInt } from '../fixture/random.ts';
import type { Reaction } from '../stand-in/claude/reaction.ts';
import { type Failure, OUTAGES, type Outage } from '../stand-in/telegram/failures.ts';
import { midTraffic, PACE_MS, type Scenario, type Stage, until } from './scenario.ts';
import { answers } from './traffic.ts';

const BROWNOUT_MS = 3_000;
const MANY = 1_000_000;

const THROTTLED: Failure = {
  status: 429,
  description: 'Too Many Requests: retry after 1',
  parameters: { retry_after: 1 },
};
/** The ways in which sending fails for a moment; only a lost reply and a proxy's page leave the result unknown. */
const SENDING: readonly Failure[] = [THROTTLED, { do: 'html502' }, { do: 'loseReply' }, { do: 'slow', ms: 300 }];

/** Lets a share of the calls of some methods fail while it lasts. */
export async function brownOutTelegram(
  { world, faults, random }: Stage,
  plan: { name: string; methods: readonly string[]; failures: readonly Failure[]; share: number; lastMs?: number },
): Promise<void> {
  const each = plan.share / plan.failures.length;
  for (const method of plan.methods) {
    for (const failure of plan.failures) world.telegram.fail(method, failure, MANY, () => random() < each);
  }
  await faults.during(plan.name, ['send'], async () => {
    await pause(plan.lastMs ?? BROWNOUT_MS);
    world.telegram.heal();
  });
}

/** One gateway, messages, and something in the middle. */
async function under(stage: Stage, act: () => Promise<void>): Promise<void> {
  await stage.world.fleet.start();
  await midTraffic(stage, PACE_MS, act, [0.3]);
}

function browningOut(plan: Parameters<typeof brownOutTelegram>[1]): Scenario['play'] {
  return (stage) => under(stage, () => brownOutTelegram(stage, plan));
}

const UNSURE_MAX = 3;

const sending: Scenario = {
  name: 'telegram-brownout',
  about: 'for 3 seconds half of the sends and edits fail: 429, a 502 page, a lost reply, slowness',
  traffic: { messages: 120, chats: 20, kinds: 'mixed' },
  // A part whose repeat fails without a known result, while others are confirmed, is told to the operator.
  rules: { unansweredMax: UNSURE_MAX, alertsMax: UNSURE_MAX, alertLike: /^A part of an answer was sent twice/m },
  isInCut: true,
  play: browningOut({ name: 'sends fail', methods: ['sendMessage', 'editMessageText'], failures: SENDING, share: 0.5 }),
};

const receiving: Scenario = {
  name: 'telegram-polls-fail',
  about: 'for 3 seconds getUpdates fails: a 502 page, 429, a dead socket, a reply that is lost',
  traffic: { messages: 120, chats: 20 },
  play: browningOut({
    name: 'polls fail',
    methods: ['getUpdates'],
    failures: [{ do: 'html502' }, THROTTLED, { do: 'cut' }, { do: 'loseReply' }],
    share: 0.9,
  }),
};

const hanging: Scenario = {
  name: 'telegram-hangs',
  about: 'some sends get no answer, ever: after 30 seconds the gateway gives each up as unknown',
  traffic: { messages: 60, chats: 20 },
  play: browningOut({
    name: 'sends hang',
    methods: ['sendMessage'],
    failures: [{ do: 'hang' }],
    share: 0.3,
    lastMs: 1_000,
  }),
};

const redelivered: Scenario = {
  name: 'telegram-redelivers',
  about: 'updates that were confirmed come again, some of them several times: each is answered once',
  traffic: { messages: 120, chats: 12, kinds: 'mixed' },
  isInCut: true,
  play: (stage) =>
    under(stage, async () => {
      const { world, traffic, faults, random } = stage;
      await faults.during('redelivery', [], async () => {
        for (let round = 1; round <= 40; round++) {
          await pause(40);
          const again = traffic.asked[randomInt(random, traffic.asked.length)];
          if (again && again.updateId <= world.telegram.confirmedUpTo()) world.telegram.redeliver(again.updateId);
        }
      });
    }),
};

const contested: Scenario = {
  name: 'telegram-contested',
  about: 'a stranger polls with the same token, so that our polls end with 409, five times',
  traffic: { messages: 60, chats: 12 },
  // A look may fall between two of them, or behind the last.
  rules: { alertsMax: 2, alertLike: /^Telegram refuses our polls|^Resolved: no other process/m },
  play: (stage) =>
    under(stage, async () => {
      const { world, faults } = stage;
      await faults.during('409', [], async () => {
        for (let poll = 0; poll < 5; poll++) {
          await fetch(`${world.telegram.url}/bot${world.telegram.token}/getUpdates?timeout=0&limit=1`);
          await pause(400);
        }
      });
    }),
};

const unauthorized: Scenario = {
  name: 'telegram-refuses-token',
  about: 'for 3 seconds the bot token is not accepted, for any method; then it is again',
  traffic: { messages: 80, chats: 16 },
  // Alerts go through Telegram too, so one that tells of it comes late; that none comes at all is allowed.
  rules: { alertsMax: 2 },
  play: browningOut({
    name: '401',
    methods: ['*'],
    failures: [{ status: 401, description: 'Unauthorized' }],
    share: 1,
  }),
};

const backlog: Scenario = {
  name: 'telegram-backlog',
  about: '400 updates wait when the gateway starts; it is killed in the middle of taking them, and started again',
  traffic: { messages: 400, chats: 40, kinds: 'mixed' },
  async play({ world, traffic, faults }) {
    await traffic.pour();
    const first = await world.fleet.start();
    await faults.during('gateway killed', ['send', 'overlap'], async () => {
      await until('the first answers', () => world.claude.calls.length > 40);
      await world.fleet.kill(first);
      await world.fleet.start();
    });
  },
};

/** Fifteen minutes, as the pauses of the gateways here are a fiftieth of what they are elsewhere. */
const AWAY_MS = 18_000;
/** A send that nobody answers is known to be lost after 30 seconds, here as everywhere. */
const AWAY_SILENT_MS = 45_000;
/** So slow that a model which is asked during an outage is still asked when the breaker has long been open. */
const ANSWER_MS = 400;
const AWAY_ALERT = /^Telegram has not answered|^Resolved: Telegram answers again|^A finished reply has waited/m;

const awayFor: Record<Outage, number> = {
  page: AWAY_MS,
  'server error': AWAY_MS,
  refused: AWAY_MS,
  silent: AWAY_SILENT_MS,
  unanswered: AWAY_SILENT_MS,
};

const OUTAGE_WORDS: Record<Outage, string> = {
  page: 'a proxy answers every call with its own page',
  'server error': 'every call ends in a 500 of its own',
  refused: 'nobody listens, and a gateway is killed meanwhile',
  silent: 'no call is answered or carried out',
  unanswered: 'every call is carried out, and none is answered',
};

/** Telegram is away while messages of all chats wait, some with their answer. */
async function goAway(stage: Stage, how: Outage, lastMs: number, meanwhile: () => Promise<void>): Promise<void> {
  const { world, traffic, faults, quiet } = stage;
  world.claude.react((call) => ({ ...(answers(call) ?? { do: 'answer' as const }), afterMs: ANSWER_MS }) as Reaction);
  await traffic.pour();
  await until('the first answers', () => world.claude.calls.length >= traffic.planned / 3);
  await faults.during(`Telegram away: ${how}`, ['send'], async () => {
    const untilMs = Date.now() + lastMs;
    await world.telegram.goAway(how);
    await until('the breaker is open', () => isAway(world), lastMs);
    // What had begun by then may end.
    const fromMs = Date.now() + SETTLE_MS;
    await meanwhile();
    await pause(Math.max(0, untilMs - Date.now()));
    if (await isAway(world)) quiet.push({ fromMs, toMs: Date.now() });
    await world.telegram.comeBack();
  });
}

const SETTLE_MS = 1_500;
const isAway = async ({ peek, keys }: Stage['world']) => (await peek.hexists(keys.telegram, 'awaySinceMs')) === 1;

const away = (how: Outage): Scenario => ({
  name: `telegram-away-${how.replace(' ', '-')}`,
  about: `for 15 minutes, shortened to ${awayFor[how] / 1_000} seconds, ${OUTAGE_WORDS[how]}`,
  traffic: { messages: 60, chats: 24 },
  // Some chats are answered, and others have not been asked about, when it begins.
  env: { WORKER_CONCURRENCY: '2' },
  rules: { alertsMax: 4, alertLike: AWAY_ALERT },
  isInCut: how === 'page',
  async play(stage) {
    const { fleet } = stage.world;
    const doomed = await fleet.start();
    await goAway(stage, how, awayFor[how], async () => {
      if (how !== 'refused') return;
      await fleet.kill(doomed);
      await fleet.start();
    });
  },
});

const tooLong: Scenario = {
  name: 'telegram-away-too-long',
  about: 'Telegram is away for longer than TELEGRAM_PATIENCE_MS; then the operator puts every dead letter back',
  // One message a chat: what is put back stands behind what came later.
  traffic: { messages: 8, chats: 2_000 },
  env: { TELEGRAM_PATIENCE_MS: '2000' },
  rules: { callsMax: 1, alertsMin: 1, alertsMax: 24, alertLike: AWAY_ALERT },
  async play(stage) {
    const { world } = stage;
    await world.fleet.start();
    await goAway(stage, 'page', AWAY_MS / 3, async () => {});
    await until('Telegram is there', async () => !(await isAway(world)));
    await until('answers are dead letters', async () => (await world.peek.xlen(world.keys.dead)) > 0);
    for (const [id] of await world.peek.xrange(world.keys.dead, '-', '+'))
      await bindReplay(world.peek).together(world.keys, [id]);
  },
};

/** Everything about Telegram. */
export const TELEGRAM_SCENARIOS: readonly Scenario[] = [
  ...OUTAGES.map(away),
  tooLong,
  sending,
  receiving,
  hanging,
  redelivered,
  contested,
  unauthorized,
  backlog,
];
