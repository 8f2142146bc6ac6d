/** The long run: many messages of many chats, and every few seconds a fault that the seed draws. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import { randomInt } from '../fixture/random.ts';
import { type Census, takeCensus } from './census.ts';
import { brownOut, TRANSIENT } from './claude-scenarios.ts';
import { killRedis } from './redis-scenarios.ts';
import { look, type Sample } from './sample.ts';
import { type Result, runScenario, type Scenario, type Stage, until, untilIdle } from './scenario.ts';
import { growing } from './soak-verdict.ts';
import { brownOutTelegram } from './telegram-scenarios.ts';

const MESSAGES = 10_000;
const CHATS = 500;
const PACE_MS = 20;
const REST_MS = 4_000;
const SAMPLE_MS = 5_000;
const SHORT_MS = 1_500;
const FROZEN_MS = 3_500;
/** Each chat may meet several faults while one of its messages is under way, and attempts are bounded: 0.2 %. */
const UNANSWERED_MAX = MESSAGES / 500;
/** The gateway that is followed has this much heap and no more: one that leaks a little for each message ends here. */
export const HEAP_MB = 160;
/** Shares of the messages after which Redis is looked at as a whole. */
const CENSUS_SHARES = [0.1, 0.5];
const ARCHIVED_MS = 20_000;

type Trouble = (stage: Stage) => Promise<void>;

const BOTH = ['send', 'overlap'] as const;

/** The gateway that was started first is never touched, so that its memory can be followed; the others are fair game. */
const TROUBLES: Readonly<Record<string, Trouble>> = {
  'gateway killed': ({ world, faults }) =>
    faults.during('gateway killed', BOTH, async () => {
      const victim = world.fleet.running[1];
      if (victim) await world.fleet.kill(victim);
      await world.fleet.start();
    }),
  'gateway deployed': ({ world, faults }) =>
    faults.during('gateway deployed', [], async () => {
      const old = world.fleet.running[1];
      await world.fleet.start();
      if (old) await world.fleet.retire(old);
    }),
  'gateway frozen': ({ world, faults }) =>
    faults.during('gateway frozen', BOTH, async () => {
      world.fleet.running[1]?.kill('SIGSTOP');
      await pause(FROZEN_MS);
      world.fleet.running[1]?.kill('SIGCONT');
    }),
  'Redis killed': killRedis,
  'Redis frozen': ({ world, faults }) =>
    faults.during('Redis frozen', BOTH, async () => {
      world.redis.freeze();
      await pause(SHORT_MS);
      world.redis.thaw();
    }),
  'Redis out of memory': ({ world, faults }) =>
    faults.during('Redis out of memory', BOTH, async () => {
      await world.peek.config('SET', 'maxmemory', '1mb');
      await pause(SHORT_MS);
      await world.peek.config('SET', 'maxmemory', '0');
    }),
  'line reset': ({ world, faults }) => faults.during('line reset', BOTH, () => world.proxy.resetAll()),
  'line cut': ({ world, faults }) =>
    faults.during('line cut', BOTH, async () => {
      world.proxy.refuse();
      await pause(SHORT_MS);
      world.proxy.forward();
    }),
  'replies lost': ({ world, faults }) =>
    faults.during('replies lost', BOTH, async () => {
      world.proxy.dropReplies();
      await pause(SHORT_MS);
      world.proxy.forward();
    }),
  'model browns out': (stage) =>
    brownOut(stage, 'model browns out', SHORT_MS, () =>
      stage.random() < 0.5 ? TRANSIENT[randomInt(stage.random, TRANSIENT.length)] : undefined,
    ),
  'Telegram browns out': (stage) =>
    brownOutTelegram(stage, {
      name: 'Telegram browns out',
      methods: ['sendMessage', 'editMessageText', 'getUpdates'],
      failures: [{ do: 'html502' }, { do: 'loseReply' }, { do: 'cut' }],
      share: 0.4,
      lastMs: SHORT_MS,
    }),
  'updates come again': ({ world, traffic, faults, random }) =>
    faults.during('updates come again', [], () => {
      for (let again = 0; again < 10; again++) {
        const asked = traffic.asked[randomInt(random, traffic.asked.length)];
        if (asked && asked.updateId <= world.telegram.confirmedUpTo()) world.telegram.redeliver(asked.updateId);
      }
    }),
};

/** What a soak came to. */
export interface Soaked {
  result: Result;
  samples: readonly Sample[];
  /** Before the first message, after some, in the middle, and when all was settled. */
  censuses: readonly Census[];
  /** What grew although it should not. */
  grown: readonly string[];
  /** How often each trouble was made. */
  troubles: ReadonlyMap<string, number>;
}

/** Runs the soak. `onSample` is told how far it is. */
export async function soak(
  server: FoundRedisServer,
  seed: number,
  onSample: (sample: Sample) => void,
): Promise<Soaked> {
  const watch = new Watch(onSample);
  const scenario: Scenario = {
    ...SOAK,
    play: (stage) => play(stage, watch),
    after: async (stage) => {
      const { world } = stage;
      await releaseMoneyOfTheDead(stage);
      // The archivist comes every few seconds; that it did not come is seen in the census.
      const isDone = async (): Promise<boolean> => (await world.peek.scard(world.keys.archivable)) === 0;
      await until('the archivist', isDone, ARCHIVED_MS).catch(() => undefined);
      watch.censuses.push(await takeCensus(world));
    },
  };
  const result = await runScenario(server, scenario, seed);
  const { samples, censuses, troubles } = watch;
  return { result, samples, censuses, troubles, grown: growing({ samples, censuses, chats: CHATS }) };
}

/**
 * A process that was killed leaves its reservations of money: each lapses after 20 seconds without renewal, and the first
 * call after that releases it. So wait for the lapse, and let every chat write once more.
 */
async function releaseMoneyOfTheDead({ world, traffic, patienceMs }: Stage): Promise<void> {
  if ((await world.peek.zcard(world.keys.reservations)) === 0) return;
  const isLapsed = async () => (await world.peek.zcount(world.keys.reservations, Date.now(), '+inf')) === 0;
  await until('reservations to lapse', isLapsed);
  traffic.askOnceMore();
  await untilIdle(world, Date.now() + patienceMs);
}

/** What is seen of a soak while it runs. */
class Watch {
  readonly samples: Sample[] = [];
  readonly censuses: Census[] = [];
  readonly troubles = new Map<string, number>();
  readonly #onSample: (sample: Sample) => void;

  constructor(onSample: (sample: Sample) => void) {
    this.#onSample = onSample;
  }

  /** Keeps a sample, if there is one. */
  keep(sample: Sample | undefined): void {
    if (sample === undefined) return;
    this.samples.push(sample);
    this.#onSample(sample);
  }

  /** Counts a trouble. */
  note(name: string): void {
    this.troubles.set(name, (this.troubles.get(name) ?? 0) + 1);
  }
}

/** The rules of the soak. */
export const SOAK: Omit<Scenario, 'play'> = {
  name: 'soak',
  about: `${MESSAGES} messages of ${CHATS} chats, with a random fault every few seconds`,
  traffic: { messages: MESSAGES, chats: CHATS, kinds: 'mixed' },
  rules: { callsMax: 4 + 5 + 4, unansweredMax: UNANSWERED_MAX, alertsMax: UNANSWERED_MAX },
};

async function play(stage: Stage, watch: Watch): Promise<void> {
  const { world, traffic, random } = stage;
  const steady = await world.fleet.start({ NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` });
  await world.fleet.start();
  watch.censuses.push(await takeCensus(world));
  const sinceMs = Date.now();
  const sampleNow = async (): Promise<void> => watch.keep(await look(world, steady.pid, sinceMs, traffic.asked.length));
  const timer = setInterval(() => void sampleNow(), SAMPLE_MS);
  try {
    const pouring = traffic.pour({ everyMs: PACE_MS });
    const names = Object.keys(TROUBLES);
    while (traffic.asked.length < traffic.planned) {
      await pause(REST_MS * (0.5 + random()));
      // No trouble is on now, so Redis answers.
      const share = CENSUS_SHARES[watch.censuses.length - 1];
      if (share !== undefined && traffic.asked.length >= share * traffic.planned)
        watch.censuses.push(await takeCensus(world));
      const name = names[randomInt(random, names.length)] ?? '';
      watch.note(name);
      await TROUBLES[name]?.(stage);
    }
    await pouring;
    await sampleNow();
  } finally {
    clearInterval(timer);
  }
}
