/** An instant, and the time zone in which to show it. */
export interface Moment {
  readonly atMs: number;
  readonly timeZone: string;
}

const MOMENT = { day: 'numeric', month: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

export function momentEn({ atMs, timeZone }: Moment): string {
  return `${new Intl.DateTimeFormat('en-GB', { ...MOMENT, timeZone }).format(atMs)} (${timeZone})`;
}

export function momentZh({ atMs, timeZone }: Moment): string {
  return `${new Intl.DateTimeFormat('zh-TW', { ...MOMENT, timeZone }).format(atMs)}（${timeZone}）`;
}

/** The rhythm of a repeated event. An empty list of weekdays, dates or months restricts nothing. */
export type Rhythm =
  | { readonly everyMinutes: number }
  | {
      /** 0 is Sunday. */
      readonly weekdays: readonly number[];
      readonly dates: readonly number[];
      /** 1 is January. */
      readonly months: readonly number[];
      /** The times on each matching day. If weekdays and dates are both restricted, a match with either is enough. */
      readonly times: Times;
    };

/** Times of day, in minutes since midnight: a list and the number of further times, or an interval, in a range or all day. */
export type Times =
  | { readonly list: readonly number[]; readonly more: number }
  | { readonly everyMinutes: number; readonly from?: number; readonly to?: number };

const HOUR = 60;
const DAY = 24 * HOUR;
/** 4 January 1970 was a Sunday. */
const weekday = (locale: string, day: number) =>
  new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' }).format(new Date(Date.UTC(1970, 0, 4 + day)));
const clock = (minutes: number) => `${Math.floor(minutes / HOUR)}:${String(minutes % HOUR).padStart(2, '0')}`;
/** Joins items for people: "a, b and c". */
export const joinItems = (locale: string, items: readonly string[]) =>
  new Intl.ListFormat(locale, { type: 'conjunction' }).format(items);
const isWorkdays = (days: readonly number[]) => days.join() === '1,2,3,4,5';

const SPANS = [
  { size: 7 * DAY, en: 'week', zh: '週' },
  { size: DAY, en: 'day', zh: '天' },
  { size: HOUR, en: 'hour', zh: '小時' },
];

function spanOf(minutes: number): { count: number; en: string; zh: string } {
  const { size, en, zh } = SPANS.find((span) => minutes % span.size === 0) ?? { size: 1, en: 'minute', zh: '分鐘' };
  return { count: minutes / size, en, zh };
}

function spanEn(minutes: number): string {
  const { count, en } = spanOf(minutes);
  return count === 1 ? `every ${en}` : `every ${count} ${en}s`;
}

function spanZh(minutes: number): string {
  const { count, zh } = spanOf(minutes);
  return count === 1 ? `每${zh}` : `每 ${count} ${zh}`;
}

const ORDINALS: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' };
const ordinal = (n: number) => `${n}${ORDINALS[new Intl.PluralRules('en', { type: 'ordinal' }).select(n)] ?? 'th'}`;
const monthEn = (month: number) =>
  new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' }).format(new Date(Date.UTC(1970, month - 1)));

/** A rhythm in English, as in "every Monday at 9:00". */
export function rhythmEn(rhythm: Rhythm): string {
  if ('everyMinutes' in rhythm) return spanEn(rhythm.everyMinutes);
  const { weekdays, dates, months, times } = rhythm;
  const names = weekdays.map((day) => weekday('en', day));
  const year = months.length === 0 ? 'every month' : joinItems('en-GB', months.map(monthEn));
  const days = [
    ...(weekdays.length === 0 ? [] : [isWorkdays(weekdays) ? 'every weekday' : `every ${joinItems('en-GB', names)}`]),
    ...(dates.length === 0 ? [] : [`on the ${joinItems('en-GB', dates.map(ordinal))} of ${year}`]),
  ];
  const within = months.length > 0 && dates.length === 0 ? ` in ${year}` : '';
  if (!('list' in times)) {
    const range = times.from === undefined ? '' : ` from ${clock(times.from)} to ${clock(times.to ?? 0)}`;
    return `${[spanEn(times.everyMinutes) + range, ...(days.length === 0 ? [] : [days.join(' and ')])].join(', ')}${within}`;
  }
  const more = times.more === 0 ? '' : ` and ${times.more} more`;
  const at = times.more === 0 ? joinItems('en-GB', times.list.map(clock)) : times.list.map(clock).join(', ');
  return `${days.length === 0 ? 'every day' : days.join(' and ')}${within} at ${at}${more}`;
}

/** A rhythm in Traditional Chinese, as in "每週一 9:00". */
export function rhythmZh(rhythm: Rhythm): string {
  if ('everyMinutes' in rhythm) return spanZh(rhythm.everyMinutes);
  const { weekdays, dates, months, times } = rhythm;
  const year = months.length === 0 ? '每月' : `每年 ${months.join('、')} 月`;
  const names = weekdays.map((day) => weekday('zh-TW', day).slice(-1)).join('、');
  const days = [
    ...(weekdays.length === 0 ? [] : [isWorkdays(weekdays) ? '每週一到週五' : `每週${names}`]),
    ...(dates.length === 0 ? [] : [`${year} ${dates.join('、')} 日`]),
  ];
  const within = months.length > 0 && dates.length === 0 ? `${year}，` : '';
  const day = days.length === 0 ? '' : days.join('和');
  if (!('list' in times)) {
    const range = times.from === undefined ? '' : `${clock(times.from)} 到 ${clock(times.to ?? 0)} `;
    return `${within}${day === '' ? '' : `${day} `}${range}${spanZh(times.everyMinutes)}`;
  }
  const more = times.more === 0 ? '' : `等 ${times.list.length + times.more} 次`;
  return `${within}${day === '' ? '每天' : day} ${times.list.map(clock).join('、')}${more}`;
}
