/** The long run: many messages of many chats, and every few seconds a fault that the seed draws. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../../shared/project.ts';
import type { FoundRedisServer } from '../../shared/redis-server.ts';
import { randomInt } from '../fixture/random.ts';
import { brownOut, TRANSIENT } from './claude-scenarios.ts';
import { killRedis } from './redis-scenarios.ts';
import { headLine, resultLine, violationLine } from './report.ts';
import { look, type Sample } from './sample.ts';
import { type Result, runScenario, type Scenario, type Stage } from './scenario.ts';
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
const EVIDENCE = join(PROJECT_ROOT, 'docs', 'evidence');
/** The gateway that is followed has this much heap and no more: one that leaks a little for each message ends here. */
const HEAP_MB = 160;
const ROWS_MAX = 40;

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
  /** How often each trouble was made. */
  troubles: ReadonlyMap<string, number>;
}

/** Runs the soak. `onSample` is told how far it is. */
export async function soak(
  server: FoundRedisServer,
  seed: number,
  onSample: (sample: Sample) => void,
): Promise<Soaked> {
  const samples: Sample[] = [];
  const troubles = new Map<string, number>();
  const keep = (sample: Sample): void => {
    samples.push(sample);
    onSample(sample);
  };
  const result = await runScenario(server, { ...SOAK, play: (stage) => play(stage, keep, troubles) }, seed);
  return { result, samples, troubles };
}

/** The rules of the soak. */
export const SOAK: Omit<Scenario, 'play'> = {
  name: 'soak',
  about: `${MESSAGES} messages of ${CHATS} chats, with a random fault every few seconds`,
  traffic: { messages: MESSAGES, chats: CHATS, kinds: 'mixed' },
  rules: { callsMax: 4 + 5 + 4, unansweredMax: UNANSWERED_MAX, alertsMax: UNANSWERED_MAX },
};

async function play(stage: Stage, keep: (sample: Sample) => void, troubles: Map<string, number>): Promise<void> {
  const { world, traffic, random } = stage;
  const steady = await world.fleet.start({ NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` });
  await world.fleet.start();
  const sinceMs = Date.now();
  const sampleNow = async (): Promise<void> => {
    const sample = await look(world, steady.pid, sinceMs, traffic.asked.length);
    if (sample) keep(sample);
  };
  const timer = setInterval(() => void sampleNow(), SAMPLE_MS);
  try {
    const pouring = traffic.pour({ everyMs: PACE_MS });
    const names = Object.keys(TROUBLES);
    while (traffic.asked.length < traffic.planned) {
      await pause(REST_MS * (0.5 + random()));
      const name = names[randomInt(random, names.length)] ?? '';
      troubles.set(name, (troubles.get(name) ?? 0) + 1);
      await TROUBLES[name]?.(stage);
    }
    await pouring;
    await sampleNow();
  } finally {
    clearInterval(timer);
  }
}

/** Writes what a soak came to, for people; answers the file. */
export async function writeSoak({ result, samples, troubles }: Soaked): Promise<string> {
  await mkdir(EVIDENCE, { recursive: true });
  const file = join(EVIDENCE, 'chaos-soak.md');
  await writeFile(file, soakReport({ result, samples, troubles }));
  return file;
}

function soakReport({ result, samples, troubles }: Soaked): string {
  const every = Math.max(1, Math.ceil(samples.length / ROWS_MAX));
  const rows = samples.filter((_, index) => index % every === 0 || index === samples.length - 1);
  const violations = result.violations.map((each) => `- ${violationLine(each)}`);
  return [
    '# Soak',
    '',
    `${SOAK.about}; written by \`npm run chaos -- --soak --seed ${result.seed}\`.`,
    '',
    '```',
    headLine(),
    resultLine(result, { ...SOAK, play: async () => {} }),
    '```',
    '',
    `Faults: ${[...troubles].map(([name, times]) => `${name} ${times}`).join(', ')}.`,
    '',
    violations.length === 0 ? 'No invariant was violated.' : `Violations:\n\n${violations.join('\n')}`,
    '',
    `The gateway below is the one that no fault killed or froze, with a heap of at most ${HEAP_MB} MB; handles are its open files and sockets. \`waiting\` is with Telegram, \`unanswered\` on the stream.`,
    '',
    '| seconds | asked | waiting | unanswered | settled | gateway MB | handles | Redis MB | Redis keys |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows.map(
      (row) =>
        `| ${row.seconds} | ${row.asked} | ${row.waiting} | ${row.unanswered} | ${row.settled} | ${row.gatewayMb} | ${row.gatewayHandles} | ${row.redisMb} | ${row.redisKeys} |`,
    ),
    '',
  ].join('\n');
}
