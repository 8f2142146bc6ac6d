import type { Settings } from '../../base/settings.ts';
import type { ChatKey, EntryId } from '../../redis/keys.ts';

/** Whose spending a limit bounds. */
export type Whose = 'chat' | 'person' | 'total';
/** Days and months are those of UTC. */
type Period = 'day' | 'month';
/** What is counted. */
export type Unit = 'usd' | 'tokens';
/** What something cost: billionths of a dollar, so that sums are exact, and tokens. */
export type Bill = Readonly<Record<Unit, number>>;

/** How much may be spent in a period. */
export interface Limit {
  /** The setting that states it. */
  setting: keyof typeof SETTINGS;
  whose: Whose;
  period: Period;
  unit: Unit;
  /** As in a bill. */
  max: number;
}

/** What was spent of a limit in the present period. */
export interface Spent {
  limit: Limit;
  /** As in a bill; without what calls that are running hold. */
  spent: number;
  /** Whether it is: nothing is left, or something was refused since what is left was not enough. */
  isUsedUp: boolean;
  /** When the next period begins. */
  againMs: number;
}

/** A sum of many small amounts stays exact in whole numbers. */
export const PER_DOLLAR = 1e9;

/** Of several that are used up, the first is named: of a chat before that of all, and the one that lasts longest. */
const SETTINGS = {
  CHAT_MONTHLY_USD: ['chat', 'month', 'usd'],
  CHAT_DAILY_USD: ['chat', 'day', 'usd'],
  CHAT_DAILY_TOKENS: ['chat', 'day', 'tokens'],
  PERSON_MONTHLY_USD: ['person', 'month', 'usd'],
  PERSON_DAILY_USD: ['person', 'day', 'usd'],
  TOTAL_MONTHLY_USD: ['total', 'month', 'usd'],
  TOTAL_DAILY_USD: ['total', 'day', 'usd'],
  TOTAL_DAILY_TOKENS: ['total', 'day', 'tokens'],
} as const satisfies Partial<Record<keyof Settings, readonly [Whose, Period, Unit]>>;

/** The settings that are limits. */
type BudgetSettings = Pick<Settings, Limit['setting']> & Partial<Pick<Settings, 'TELEGRAM_ALLOWED_IDS'>>;

/**
 * What a guest may spend in a day, and anybody of a bot that is open to all, where PERSON_DAILY_USD does not say: about a
 * tenth of what all may spend, so that no stranger uses it up alone.
 */
const GUEST_DAILY_USD = 2;

/** The limits that are set, for a chat with its own ones, and for a guest or somebody listed; 0 is none. Pure. */
export function limitsOf(
  settings: BudgetSettings,
  { dailyUsd, monthlyUsd }: OwnLimits = {},
  { isGuest = false }: Pick<Payer, 'isGuest'> = {},
): Limit[] {
  const isStranger = isGuest || settings.TELEGRAM_ALLOWED_IDS === 'everyone';
  const stated = {
    ...settings,
    CHAT_DAILY_USD: dailyUsd ?? settings.CHAT_DAILY_USD,
    CHAT_MONTHLY_USD: monthlyUsd ?? settings.CHAT_MONTHLY_USD,
    PERSON_DAILY_USD: settings.PERSON_DAILY_USD ?? (isStranger ? GUEST_DAILY_USD : undefined),
  };
  return (Object.keys(SETTINGS) as Limit['setting'][]).flatMap((setting) => {
    const [whose, period, unit] = SETTINGS[setting];
    const max = Math.round((stated[setting] ?? 0) * (unit === 'usd' ? PER_DOLLAR : 1));
    return max > 0 ? [{ setting, whose, period, unit, max }] : [];
  });
}

/** The limits of all chats together. Pure. */
export function totalsOf(settings: BudgetSettings): Limit[] {
  return limitsOf(settings).filter(({ whose }) => whose === 'total');
}

/** The name of the period that a moment lies in: `2026-11-22`, or `2026-11`. Pure. */
export function periodAt(period: Period, atMs: number): string {
  return new Date(atMs).toISOString().slice(0, period === 'day' ? 10 : 7);
}

/** When the next period begins, in ms since the epoch. Pure. */
export function nextPeriodMs(period: Period, atMs: number): number {
  const at = new Date(atMs);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, at.getUTCDate() + 1) : Date.UTC(year, month + 1, 1);
}

/** The field of a period's book that holds what a limit is about; `undefined` where nobody pays who has such a limit. */
export function fieldOf({ whose, unit }: Limit, payer: Payer | undefined): string | undefined {
  if (whose === 'total') return `all:${unit}`;
  const who = payer?.[whose];
  return who === undefined ? undefined : `${whose}:${who}:${unit}`;
}

/** How much of a limit is spent, in whole percent. Pure. */
export function percentOf({ limit, spent }: Spent): number {
  return Math.floor((100 * spent) / limit.max);
}

/** What is spent of a limit in words: `$3.20 of $25.00`, or as `share` joins the two. Pure. */
export function spentInWords(
  { limit: { unit, max }, spent }: Spent,
  share = (some: string, all: string) => `${some} of ${all}`,
): string {
  return unit === 'tokens'
    ? share(`${spent}`, `${max} tokens`)
    : share(inDollars(spent / PER_DOLLAR), inDollars(max / PER_DOLLAR));
}

/** An amount of money: `$0.42`; small ones with as many digits as say something. Pure. */
export function inDollars(dollars: number): string {
  return `$${dollars >= 0.1 || dollars <= 0 ? dollars.toFixed(2) : dollars.toPrecision(2)}`;
}

/** A chat's own limits in money, in place of those that the settings state for every chat; 0 is none. */
export interface OwnLimits {
  dailyUsd?: number | undefined;
  monthlyUsd?: number | undefined;
}

/** For whom a call is made: their limits bound it. */
export interface Payer {
  chat: ChatKey;
  /** The chat that the sums are booked under, if it differs: the supergroup that a group became. */
  currentChat?: ChatKey;
  /** The message that is answered, and its trace. */
  entry?: EntryId;
  traceId?: string;
  /** The id of whoever wrote. */
  person?: number;
  /** Their name as a group saw it; absent in a private chat. */
  groupName?: string;
  /** Whether they may use the bot only where somebody else let it in. */
  isGuest?: boolean;
  /** The chat's own limits. */
  own?: OwnLimits;
}
