import { randomInt } from '../fixture/random.ts';
import type { Written } from './telegram.ts';

/** A way in which a schedule hurts the gateway. */
export const FAULTS = [
  'cut reply',
  'lost answer',
  'late command',
  'kill',
  'expired lock',
  'unknown send',
  'busy peer',
  'lost job',
  'orphaned job',
  'redelivery',
  'lost lease',
  'deploy',
  'late pass',
] as const;
export type Fault = (typeof FAULTS)[number];

/** What may happen in a schedule; drawn from its seed. */
export interface Plan {
  readonly written: readonly Written[];
  readonly faults: ReadonlySet<Fault>;
  /** How likely a fault is at each step, while some are left. */
  readonly faultRate: number;
  /** Faults that cost a message an attempt: fewer than it has, so that each message has to be answered. */
  costly: number;
  /** Other faults. */
  cheap: number;
  /** Whether the reconciler passes again after the start of a process. Where no process dies, nothing may depend on it. */
  readonly reconciles: boolean;
  readonly producers: number;
}

/** Each message has 5 attempts. */
const COSTLY_MAX = 3;
const CHEAP_MAX = 5;
const LENGTHS = [1, 1, 1, 2, 2, 3];
const RATES = [0.03, 0.08, 0.15];

/** Draws a plan. Some faults are left out, so that each is also played alone. */
export function drawPlan(random: () => number, chats: readonly number[]): Plan {
  const one = <T>(of: readonly T[]): T => of[randomInt(random, of.length)] as T;
  const chatCount = one([1, 1, 2]);
  const counts = new Map<number, number>();
  const written = Array.from({ length: one(LENGTHS) }, (_, at) => {
    const chat = randomInt(random, chatCount);
    const number = (counts.get(chat) ?? 0) + 1;
    counts.set(chat, number);
    return { updateId: at + 1, chatId: chats[chat] ?? 0, chat: chat === 0 ? 'A' : 'B', number };
  });
  const share = one([0.25, 0.5, 1]);
  const faults = new Set(FAULTS.filter(() => random() < share));
  return {
    written,
    faults,
    faultRate: one(RATES),
    costly: randomInt(random, COSTLY_MAX + 1),
    cheap: randomInt(random, CHEAP_MAX + 1),
    reconciles: random() < 0.3,
    producers: one([1, 1, 1, 2]),
  };
}
