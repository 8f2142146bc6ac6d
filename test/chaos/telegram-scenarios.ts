/** What can happen to Telegram. */
import { setTimeout as pause } from 'node:timers/promises';
import { randomInt } from '../fixture/random.ts';
import type { Failure } from '../stand-in/telegram/failures.ts';
import { type Scenario, type Stage, until, untilShare } from './scenario.ts';

const PACE_MS = 15;
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
  plan: { name: string; methods: readonly string[]; failures: readonly Failure[]; share: number; lastMs: number },
): Promise<void> {
  const each = plan.share / plan.failures.length;
  for (const method of plan.methods) {
    for (const failure of plan.failures) world.telegram.fail(method, failure, MANY, () => random() < each);
  }
  await faults.during(plan.name, ['send'], async () => {
    await pause(plan.lastMs);
    world.telegram.heal();
  });
}

/** One gateway, messages, and something in the middle. */
async function under(stage: Stage, act: () => Promise<void>): Promise<void> {
  await stage.world.fleet.start();
  const pouring = stage.traffic.pour({ everyMs: PACE_MS });
  await untilShare(stage, 0.3);
  await act();
  await pouring;
}

const UNSURE_MAX = 3;

const sending: Scenario = {
  name: 'telegram-brownout',
  about: 'for 3 seconds half of the sends and edits fail: 429, a 502 page, a lost reply, slowness',
  traffic: { messages: 120, chats: 20, kinds: 'mixed' },
  // A part whose sending fails twice without a known result is given up, and told to the operator.
  rules: { unansweredMax: UNSURE_MAX, alertsMax: UNSURE_MAX, alertLike: /^A part of a reply may be missing/ },
  isInCut: true,
  play: (stage) =>
    under(stage, () =>
      brownOutTelegram(stage, {
        name: 'sends fail',
        methods: ['sendMessage', 'editMessageText'],
        failures: SENDING,
        share: 0.5,
        lastMs: BROWNOUT_MS,
      }),
    ),
};

const receiving: Scenario = {
  name: 'telegram-polls-fail',
  about: 'for 3 seconds getUpdates fails: a 502 page, 429, a dead socket, a reply that is lost',
  traffic: { messages: 120, chats: 20 },
  play: (stage) =>
    under(stage, () =>
      brownOutTelegram(stage, {
        name: 'polls fail',
        methods: ['getUpdates'],
        failures: [{ do: 'html502' }, THROTTLED, { do: 'cut' }, { do: 'loseReply' }],
        share: 0.9,
        lastMs: BROWNOUT_MS,
      }),
    ),
};

const hanging: Scenario = {
  name: 'telegram-hangs',
  about: 'some sends get no answer, ever: after 30 seconds the gateway gives each up as unknown',
  traffic: { messages: 60, chats: 20 },
  play: (stage) =>
    under(stage, () =>
      brownOutTelegram(stage, {
        name: 'sends hang',
        methods: ['sendMessage'],
        failures: [{ do: 'hang' }],
        share: 0.3,
        lastMs: 1_000,
      }),
    ),
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
  rules: { alertsMax: 2, alertLike: /^Telegram refuses our polls|^Resolved: no other process/ },
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
  play: (stage) =>
    under(stage, () =>
      brownOutTelegram(stage, {
        name: '401',
        methods: ['*'],
        failures: [{ status: 401, description: 'Unauthorized' }],
        share: 1,
        lastMs: BROWNOUT_MS,
      }),
    ),
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

/** Everything about Telegram. */
export const TELEGRAM_SCENARIOS: readonly Scenario[] = [
  sending,
  receiving,
  hanging,
  redelivered,
  contested,
  unauthorized,
  backlog,
];
