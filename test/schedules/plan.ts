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
  /** How often somebody still presses a button. */
  presses: number;
  /** Whether the reconciler passes again after the start of a process. Where no process dies, nothing may depend on it. */
  readonly reconciles: boolean;
  readonly producers: number;
  /** Whether the chats want what they write in a row to be answered together. */
  readonly merges: boolean;
}

/** Each message has 5 attempts. */
const COSTLY_MAX = 3;
const CHEAP_MAX = 5;
/** What somebody does in a chat, one thing after the other. */
const SCENES: readonly (readonly Written['kind'][])[] = [
  ...Array.from({ length: 4 }, () => ['question'] as const),
  ['question', 'question'],
  ['question', 'question'],
  ['question', 'question', 'question'],
  ['question', 'edit'],
  ['question', 'question', 'edit'],
  ['question', 'forward'],
  ['forward', 'forward'],
  ['question', 'forward', 'stop'],
  ['forward', 'forward', 'stop'],
  ['question', 'stop'],
  ['question', 'question', 'stop'],
  ['question', 'new', 'question'],
  ['question', 'again'],
  ['question', 'question', 'again'],
  ['question', 'again', 'question'],
  ['question', 'again', 'stop'],
  ['question', 'new', 'list'],
  ['question', 'new', 'question', 'list'],
  ['request'],
  ['request', 'question'],
  ['request', 'stop'],
  ['request', 'question', 'stop'],
];
/** Presses under a question of the gateway's: the first decides. */
const PRESSES_MAX = 3;
/** How often somebody else asks something in another chat. */
const OTHER_CHAT = 0.25;
/** How often chats want what waits answered together. */
const MERGES = 0.2;
const RATES = [0.03, 0.08, 0.15];

/** Draws a plan. Some faults are left out, so that each is also played alone. */
export function drawPlan(random: () => number, chats: readonly number[]): Plan {
  const one = <T>(of: readonly T[]): T => of[randomInt(random, of.length)] as T;
  const other = random() < OTHER_CHAT ? [['question'] as const] : [];
  const written = interleaved([one(SCENES), ...other], chats, random);
  const share = one([0.25, 0.5, 1]);
  const faults = new Set(FAULTS.filter(() => random() < share));
  return {
    written,
    faults,
    faultRate: one(RATES),
    costly: randomInt(random, COSTLY_MAX + 1),
    cheap: randomInt(random, CHEAP_MAX + 1),
    presses: 1 + randomInt(random, PRESSES_MAX),
    reconciles: random() < 0.3,
    producers: one([1, 1, 1, 2]),
    merges: random() < MERGES && written.every(({ kind }) => kind !== 'request' && kind !== 'again'),
  };
}

/** What happens in several chats, in one order of updates. */
function interleaved(
  scenes: readonly (readonly Written['kind'][])[],
  chats: readonly number[],
  random: () => number,
): Written[] {
  const left = scenes.map((kinds, at) => ({ kinds: [...kinds], chatId: chats[at] ?? 0, chat: 'AB'[at] ?? '' }));
  const written: Written[] = [];
  for (;;) {
    const open = left.filter(({ kinds }) => kinds.length > 0);
    const next = open[randomInt(random, Math.max(1, open.length))];
    const kind = next?.kinds.shift();
    if (next === undefined || kind === undefined) return written;
    const { chatId, chat } = next;
    const messages = written.filter((each) => each.chatId === chatId && each.kind !== 'edit');
    const last = messages.at(-1);
    const updateId = written.length + 1;
    if (kind === 'edit' && last) written.push({ ...last, kind, updateId });
    else written.push({ kind, updateId, chatId, chat, number: messages.length + 1, messageId: updateId });
  }
}
