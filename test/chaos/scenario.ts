import { setTimeout as pause } from 'node:timers/promises';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import { seededRandom } from '../fixture/random.ts';
import type { ClaudeOptions } from '../stand-in/claude/server.ts';
import { type Cut, collect, type Quiet, workLeft } from './evidence.ts';
import { createFaultLog, type FaultLog } from './fault.ts';
import type { Wait } from './hearing.ts';
import { type Judgement, judge, type Rules, USUAL_RULES } from './judge.ts';
import { createTraffic, type Traffic, type TrafficPlan } from './traffic.ts';
import { type ChaosWorld, createChaosWorld } from './world.ts';

/** What a scenario plays on. */
export interface Stage {
  world: ChaosWorld;
  traffic: Traffic;
  faults: FaultLog;
  /** The same numbers for the same seed. */
  random: () => number;
  /** What a cut of Redis's file took; a scenario that cuts sets it. */
  cut: Cut;
  /** What had to come back in time; a scenario adds to it. */
  waits: Wait[];
  /** Times in which nothing may be sent; a scenario adds to it. */
  quiet: Quiet[];
  /** How long anything may take to be healed. */
  patienceMs: number;
}

/** Something outside of the world that a scenario needs. */
export interface Preparation {
  env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** One way in which things go wrong, and what may come of it. */
export interface Scenario {
  name: string;
  /** One line: what happens. */
  about: string;
  traffic: TrafficPlan;
  env?: Readonly<Record<string, string>>;
  claude?: ClaudeOptions;
  rules?: Partial<Rules>;
  /** The server to play on, where it is another than the usual one; a reason when it is not to be had. */
  serverLike?(usual: FoundRedisServer): Promise<FoundRedisServer | string>;
  /** Prepares what the gateways' environment needs, and removes it. */
  prepare?(): Promise<Preparation>;
  /** Starts gateways, writes messages and does faults. Resolves when the last message was written and the last fault ended. */
  play(stage: Stage): Promise<void>;
  /** Looks at what is left once all is settled. */
  after?(stage: Stage): Promise<void>;
  /** Whether it belongs to the cut that runs with every test. */
  isInCut?: boolean;
}

/** What a scenario came to. */
export interface Result extends Judgement {
  name: string;
  seed: number;
  messages: number;
  faults: number;
  durationMs: number;
  drainMs: number | undefined;
}

/** The pause between two messages where a scenario has no pace of its own. */
export const PACE_MS = 15;
const DRAIN_MS = 60_000;
const CLOSING_MS = 30_000;
const LOOK_MS = 50;
const NO_CUT: Cut = { accepts: new Set(), outcomes: new Set() };

/**
 * Plays a scenario in a world of its own, waits until all is settled, and judges. Rejects only when it cannot be played.
 * The backlog must drain within `patienceMs` after the last fault.
 */
export async function runScenario(
  server: FoundRedisServer,
  scenario: Scenario,
  seed: number,
  patienceMs = DRAIN_MS,
): Promise<Result> {
  const startedMs = Date.now();
  const random = seededRandom(seed ^ hashOf(scenario.name));
  const prepared = await scenario.prepare?.();
  const other = await scenario.serverLike?.(server);
  if (typeof other === 'string') throw new Error(other);
  const world = await createChaosWorld(other ?? server, {
    chats: scenario.traffic.chats,
    env: { ...scenario.env, ...prepared?.env },
    ...(scenario.claude && { claude: scenario.claude }),
  });
  try {
    const traffic = createTraffic(world.telegram, scenario.traffic, random);
    const stage: Stage = {
      world,
      traffic,
      faults: createFaultLog(),
      random,
      cut: NO_CUT,
      waits: [],
      quiet: [],
      patienceMs,
    };
    await scenario.play(stage);
    const drainMs = await drained(stage);
    await scenario.after?.(stage);
    const evidence = await collect(world, traffic, stage.faults, {
      cut: stage.cut,
      waits: stage.waits,
      quiet: stage.quiet,
      drainMs,
    });
    return {
      ...judge(evidence, { ...USUAL_RULES, ...scenario.rules }),
      name: scenario.name,
      seed,
      messages: traffic.asked.length,
      faults: stage.faults.windows.length,
      durationMs: Date.now() - startedMs,
      drainMs,
    };
  } finally {
    await world.close();
    await prepared?.remove();
  }
}

/**
 * Waits until all is settled, without starting anything again. Then every chat writes once more: it must be usable, and
 * whoever woke up late has had the time to do harm.
 */
async function drained({ world, traffic, faults, patienceMs }: Stage): Promise<number | undefined> {
  const since = Math.max(faults.lastEndMs(), Date.now());
  if (!(await untilIdle(world, since + patienceMs))) return undefined;
  const drainMs = Date.now() - since;
  traffic.askOnceMore();
  return (await untilIdle(world, Date.now() + CLOSING_MS)) ? drainMs : undefined;
}

/** Polls until every update is confirmed and nothing is at work; false when that takes too long. */
export async function untilIdle(world: ChaosWorld, deadlineMs: number): Promise<boolean> {
  for (;;) {
    const isIdle = world.telegram.pending() === 0 && (await workLeft(world)).length === 0;
    if (isIdle && world.claude.inFlight() === 0) return true;
    if (Date.now() > deadlineMs) return false;
    await pause(LOOK_MS);
  }
}

/** Scenarios of one seed must not share their random numbers. */
function hashOf(name: string): number {
  let hash = 0;
  for (const letter of name) hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) >>> 0;
  return hash;
}

/** Waits until a share of the messages was written, so that a fault falls into the middle of them. */
export function untilShare({ traffic }: Stage, share: number): Promise<void> {
  return traffic.untilAsked(Math.ceil(traffic.planned * share));
}

/** Writes the rest of the messages, acts whenever such a share is written, and waits until all are. */
export async function midTraffic(
  stage: Stage,
  everyMs: number,
  act: () => Promise<void>,
  shares: readonly number[] = [0.4],
): Promise<void> {
  const pouring = stage.traffic.pour({ everyMs });
  for (const share of shares) {
    await untilShare(stage, share);
    await act();
  }
  await pouring;
}

/** Resolves when `look` holds; rejects with what was waited for. For a fault that needs a certain moment. */
export async function until(what: string, look: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}.`);
    await pause(LOOK_MS / 5);
  }
}
