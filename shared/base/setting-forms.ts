import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { REDIS_RISKS } from './redis-settings.ts';
import type { AllowedIds } from './settings.ts';

/** The longest delay of a Node timer. A timer with a longer delay fires at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** A positive integer. */
export const positive = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'expected a positive integer')
  .transform(Number);

/** A positive integer up to a limit. */
export const upTo = (most: number) => positive.refine((value) => value <= most, `expected at most ${most}`);

/** A duration in milliseconds, at most the longest that a timer can wait. */
export const milliseconds = positive.refine(
  (value) => value <= TIMER_MS_MAX,
  `expected milliseconds, a positive integer of at most ${TIMER_MS_MAX}`,
);

/** An API key of another service, in characters that an HTTP header allows. */
export const apiKey = z.string().regex(/^[\x21-\x7e]+$/, 'expected a key without spaces');

/** A port to listen on; 0 means any free port. */
export const port = z
  .string()
  .regex(/^\d{1,5}$/, 'expected a port number, 0 to 65535')
  .transform(Number)
  .refine((value) => value <= 65_535, 'expected a port number, 0 to 65535');

/** A limit in US dollars; 0 means no limit. */
export const dollars = z
  .string()
  .regex(/^\d{1,6}(?:\.\d{1,6})?$/, 'expected dollars, such as 25 or 0.5; 0 is no limit')
  .transform(Number);

/** An http or https URL. */
export const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http or https URL', abort: true });

/** The base URL of a model endpoint, without the `/v1` that many providers document: the client itself adds `/v1`. */
export const modelsUrl = httpUrl.transform((url) => url.replace(/\/v1\/?$/, ''));

const DIFFERENT_MIN = 8;

/** Whether a secret has at least `DIFFERENT_MIN` different characters. A random secret practically always does. */
export const isVaried = (secret: string): boolean => new Set(secret).size >= DIFFERENT_MIN;

/** A URL that we call with `fetch`, which refuses a URL with a user name. */
export const pingUrl = httpUrl.refine(
  (url) => URL.parse(url)?.username === '',
  'expected an http or https URL without a user name',
);

/** The URL of a page that shows one trace, with `{traceId}` in place of the trace's id. */
export const traceUrl = httpUrl.refine(
  (url) => url.includes('{traceId}') || url.includes('%7BtraceId%7D'),
  'expected an http or https URL with {traceId} in it',
);

/** The paths of the health server, which listens on the same port as the webhook. */
const OWN_PATHS = new Set(['/healthz', '/readyz', '/metrics']);
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The URL to which Telegram delivers updates. */
export const webhookUrl = httpUrl
  .refine(
    (url) => url.startsWith('https:') || LOOPBACK.test(URL.parse(url)?.hostname ?? ''),
    'expected an https URL, or an http one on loopback',
  )
  .refine(
    (url) => !OWN_PATHS.has(URL.parse(url)?.pathname ?? ''),
    'expected another path than /healthz, /readyz and /metrics',
  )
  .refine((url) => URL.parse(url)?.username === '', 'expected a URL without a user name')
  // Telegram reports a webhook's URL exactly as it was set, so only a normalized URL can be compared with that report.
  .transform((url) => new URL(url).href);

const numericId = /^-?\d{1,16}$/;

/** Ids of people or chats, comma separated, or `*` for everyone. */
export const allowedIds = z
  .string()
  .transform((text) => text.split(',').map((id) => id.trim()))
  .refine(
    (ids) => ids.every((id) => id === '*' || numericId.test(id)),
    'expected numeric user or chat ids, comma separated, or *',
  )
  .transform((ids): AllowedIds => (ids.includes('*') ? 'everyone' : new Set(ids.map(Number))));

/** Ids of people, comma separated; `off` means nobody. No word stands for everybody. */
export const personIds = z
  .string()
  .transform((text) => (text === 'off' ? [] : text.split(',').map((id) => id.trim())))
  .refine((ids) => ids.every((id) => /^[1-9]\d{0,15}$/.test(id)), 'expected ids of people, comma separated, or off')
  .transform((ids): ReadonlySet<number> => new Set(ids.map(Number)));

/** A chat id; `none` becomes `undefined`. */
export const alertChat = z
  .string()
  .refine((id) => id === 'none' || numericId.test(id), 'expected a numeric chat id, or none')
  .transform((id) => (id === 'none' ? undefined : Number(id)));

/** One of the given words. */
export function oneOf<const Words extends readonly string[]>(...words: Words) {
  return z.enum(words, { error: `expected ${words.slice(0, -1).join(', ')} or ${words.at(-1)}` });
}

export const flag = oneOf('true', 'false').transform((value) => value === 'true');

/** A number of messages, 0 to 50. */
export const messagesUpTo50 = z
  .string()
  .refine((text) => /^\d{1,2}$/.test(text) && Number(text) <= 50, 'expected a number from 0 to 50')
  .transform(Number);

const PROCESSES_MAX = 64;

/** A number of processes; `auto` means one for each core. */
export const processes = z
  .string()
  .refine(
    (text) => text === 'auto' || (/^[1-9]\d?$/.test(text) && Number(text) <= PROCESSES_MAX),
    `expected a number of processes, 1 to ${PROCESSES_MAX}, or auto`,
  )
  .transform((text) => (text === 'auto' ? availableParallelism() : Number(text)));

/** Names, comma separated. Empty names are dropped. */
export const names = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .transform((all) => all.filter((name) => name !== ''));

/** Names of hosts, comma separated. */
export const hostNames = names.refine(
  (all) => all.every((name) => /^[a-z\d_-]+(?:\.[a-z\d_-]+)*$/i.test(name)),
  'expected names of hosts without ports, comma separated',
);

/** Accepted risks of Redis, comma separated. */
export const acceptedRisks = names.pipe(
  z.array(z.enum(REDIS_RISKS, { error: `expected ${REDIS_RISKS.join(' or ')}, or both, comma separated` })),
);

/** A time zone that this Node knows. */
export const timeZone = z.string().refine(isTimeZone, 'expected a time zone such as Europe/Berlin');

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
