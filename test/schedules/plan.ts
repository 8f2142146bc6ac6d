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
const LENGTHS = [1, 1, 2, 2, 2, 3];
/** What follows a question. */
const NEXT = ['question', 'question', 'question', 'edit', 'stop', 'new'] as const;
const RATES = [0.03, 0.08, 0.15];

/** Draws a plan. Some faults are left out, so that each is also played alone. */
export function drawPlan(random: () => number, chats: readonly number[]): Plan {
  const one = <T>(of: readonly T[]): T => of[randomInt(random, of.length)] as T;
  const chatCount = one([1, 1, 2]);
  const written: Written[] = [];
  for (let updateId = 1, left = one(LENGTHS); left > 0; updateId++, left--) {
    const chat = randomInt(random, chatCount);
    const before = written.filter(({ chatId }) => chatId === chats[chat]);
    const at = { updateId, chatId: chats[chat] ?? 0, chat: chat === 0 ? 'A' : 'B' };
    written.push({ ...at, ...nextAfter(before, one(NEXT), updateId) });
  }
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

/** What somebody does next: a chat begins with a question, and has one edit and one command at most. */
function nextAfter(
  before: readonly Written[],
  kind: Written['kind'],
  messageId: number,
): Pick<Written, 'kind' | 'number' | 'messageId'> {
  const messages = before.filter((each) => each.kind !== 'edit');
  const last = messages.at(-1);
  if (kind === 'edit' && last?.kind === 'question' && messages.length === before.length)
    return { kind, number: last.number, messageId: last.messageId };
  const isCommand = (of: Written['kind']) => of === 'stop' || of === 'new';
  const canCommand = isCommand(kind) && last !== undefined && !messages.some((each) => isCommand(each.kind));
  return { kind: canCommand ? kind : 'question', number: messages.length + 1, messageId };
}
