import type { Settings } from '../../base/settings.ts';
import type { ChatKey, EntryId } from '../../redis/keys.ts';

/** The payers whose spending a limit counts: one chat, one person, or all together. */
export type Whose = 'chat' | 'person' | 'total';
/** A calendar period in UTC. */
type Period = 'day' | 'month';
/** The unit of a limit. */
export type Unit = 'usd' | 'tokens';
/** A cost in both units; `usd` counts billionths of a dollar. */
export type Bill = Readonly<Record<Unit, number>>;

/** A limit on spending in a period. */
export interface Limit {
  setting: keyof typeof SETTINGS;
  whose: Whose;
  period: Period;
  unit: Unit;
  /** The highest amount that may be spent, in the unit of a `Bill`. */
  max: number;
}

/** The spending of a limit in its present period. */
export interface LimitUsage {
  limit: Limit;
  /** The amount spent, in the unit of a `Bill`, without the amounts on hold for running calls. */
  spent: number;
  /** Whether the limit refuses calls: nothing remains, or a call in this period needed more than remains. */
  isUsedUp: boolean;
  /** The beginning of the next period, in ms since the epoch. */
  againMs: number;
}

/** The gateway counts billionths of a dollar in whole numbers, so that sums are exact. */
export const PER_DOLLAR = 1e9;

/** The limits in the order in which used-up ones are reported: the narrower payer first, then the longer period. */
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

/** The settings that `limitsOf` reads. */
type BudgetSettings = Pick<Settings, Limit['setting']> & Partial<Pick<Settings, 'TELEGRAM_ALLOWED_IDS'>>;

/**
 * The daily limit of a stranger if PERSON_DAILY_USD is not set. A stranger is a guest, or anybody if the bot is open to all.
 * It is about a tenth of the default of TOTAL_DAILY_USD, so that no stranger uses up TOTAL_DAILY_USD alone.
 */
const GUEST_DAILY_USD = 2;

/** The limits that apply according to the settings, the chat's own limits and the kind of person; 0 means no limit. Pure. */
export function limitsOf(
  settings: BudgetSettings,
  { dailyUsd, monthlyUsd }: OwnLimits = {},
  { isGuest = false }: Pick<Payer, 'isGuest'> = {},
): Limit[] {
  const isStranger = isGuest || settings.TELEGRAM_ALLOWED_IDS === 'everyone';
  const amounts = {
    ...settings,
    CHAT_DAILY_USD: dailyUsd ?? settings.CHAT_DAILY_USD,
    CHAT_MONTHLY_USD: monthlyUsd ?? settings.CHAT_MONTHLY_USD,
    PERSON_DAILY_USD: settings.PERSON_DAILY_USD ?? (isStranger ? GUEST_DAILY_USD : undefined),
  };
  return (Object.keys(SETTINGS) as Limit['setting'][]).flatMap((setting) => {
    const [whose, period, unit] = SETTINGS[setting];
    const max = Math.round((amounts[setting] ?? 0) * (unit === 'usd' ? PER_DOLLAR : 1));
    return max > 0 ? [{ setting, whose, period, unit, max }] : [];
  });
}

/** The limits on the spending of all chats together. Pure. */
export function totalsOf(settings: BudgetSettings): Limit[] {
  return limitsOf(settings).filter(({ whose }) => whose === 'total');
}

/** The name of the period of a moment: `2026-11-22`, or `2026-11`. Pure. */
export function periodAt(period: Period, atMs: number): string {
  return new Date(atMs).toISOString().slice(0, period === 'day' ? 10 : 7);
}

/** The beginning of the next period, in ms since the epoch. Pure. */
export function nextPeriodMs(period: Period, atMs: number): number {
  const at = new Date(atMs);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, at.getUTCDate() + 1) : Date.UTC(year, month + 1, 1);
}

/** The field that counts a limit's spending in a period's hash; `undefined` if the limit does not apply to `payer`. */
export function fieldOf({ whose, unit }: Limit, payer: Payer | undefined): string | undefined {
  if (whose === 'total') return `all:${unit}`;
  const id = payer?.[whose];
  return id === undefined ? undefined : `${whose}:${id}:${unit}`;
}

/** The spent share of a limit, in whole percent. Pure. */
export function percentOf({ limit, spent }: LimitUsage): number {
  return Math.floor((100 * spent) / limit.max);
}

/** The spending of a limit in words: `$3.20 of $25.00`, or as `share` joins the two amounts. Pure. */
export function spentInWords(
  { limit: { unit, max }, spent }: LimitUsage,
  share = (part: string, all: string) => `${part} of ${all}`,
): string {
  return unit === 'tokens'
    ? share(`${spent}`, `${max} tokens`)
    : share(inDollars(spent / PER_DOLLAR), inDollars(max / PER_DOLLAR));
}

/** An amount of money: `$0.42`; below 10 cents with two significant digits. Pure. */
export function inDollars(dollars: number): string {
  return `$${dollars >= 0.1 || dollars <= 0 ? dollars.toFixed(2) : dollars.toPrecision(2)}`;
}

/** A chat's own limits in money, in place of CHAT_DAILY_USD and CHAT_MONTHLY_USD; 0 means no limit. */
export interface OwnLimits {
  dailyUsd?: number | undefined;
  monthlyUsd?: number | undefined;
}

/** The chat and the person whose limits pay for a call. */
export interface Payer {
  chat: ChatKey;
  /** The supergroup that the chat became, or else the chat. Sums are booked under this chat. */
  currentChat?: ChatKey;
  /** The message that the call serves, and its trace. */
  entry?: EntryId;
  traceId?: string;
  /** The id of the message's author. */
  person?: number;
  /** The author's name in a group; absent in a private chat. */
  groupName?: string;
  isGuest?: boolean;
  /** The chat's own limits. */
  ownLimits?: OwnLimits;
}
