import { z } from 'zod';

/** The role that reads the environment: each needs its own part and ignores the rest. */
export type Role = 'gateway' | 'producer' | 'worker' | 'tool';

const REQUIRED: Record<Role, readonly string[]> = {
  gateway: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOWED_IDS', 'TELEGRAM_ALERT_CHAT_ID', 'ANTHROPIC_API_KEY'],
  producer: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOWED_IDS'],
  worker: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALERT_CHAT_ID', 'ANTHROPIC_API_KEY'],
  tool: [],
};

/** Names that the interface reserves for features that this version does not have yet. */
const NOT_YET = ['PINNED_MAX_CHARS', 'OPERATOR_TOKEN'];
/** One without the other is a mistake: no deliveries, or deliveries that anyone could forge. */
const WEBHOOK = ['TELEGRAM_WEBHOOK_URL', 'TELEGRAM_WEBHOOK_SECRET'] as const;
const SENTINEL = ['REDIS_SENTINELS', 'REDIS_SENTINEL_MASTER'] as const;
const PLACES = ['REDIS_URL', 'REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'] as const;
const RECEIVING: readonly Role[] = ['gateway', 'producer'];

/** Each shard has its own connections and services, and each parallel chat holds a request in memory. */
const SHARDS_MAX = 256;
const CONCURRENCY_MAX = 1_000;
const ONE_SHARD =
  'SHARDS is 1, so all data lies on one node of the Redis Cluster; set it before there is data, it cannot be changed later';
/** A timer longer than this fires at once. */
const TIMER_MS_MAX = 2_147_483_647;

const positive = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'expected a positive integer')
  .transform(Number);
const milliseconds = positive.refine(
  (value) => value <= TIMER_MS_MAX,
  `expected milliseconds, a positive integer of at most ${TIMER_MS_MAX}`,
);
const port = z
  .string()
  .regex(/^\d{1,5}$/, 'expected a port number, 0 to 65535')
  .transform(Number)
  .refine((value) => value <= 65_535, 'expected a port number, 0 to 65535');
const share = z
  .string()
  .regex(/^0?\.\d{1,3}$/, 'expected a share between 0.1 and 0.95, such as 0.7')
  .transform(Number)
  .refine((value) => value >= 0.1 && value <= 0.95, 'expected a share between 0.1 and 0.95, such as 0.7');
const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http or https URL', abort: true });
/** A request to a URL that contains a user name always fails. */
const pingUrl = httpUrl.refine(
  (url) => URL.parse(url)?.username === '',
  'expected an http or https URL without a user name',
);
/** Health uses these paths on the same listener. */
const OWN_PATHS = new Set(['/healthz', '/readyz']);
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const webhookUrl = httpUrl
  .refine(
    (url) => url.startsWith('https:') || LOOPBACK.test(URL.parse(url)?.hostname ?? ''),
    'expected an https URL, or an http one on loopback',
  )
  .refine((url) => !OWN_PATHS.has(URL.parse(url)?.pathname ?? ''), 'expected another path than /healthz and /readyz')
  .refine((url) => URL.parse(url)?.username === '', 'expected a URL without a user name')
  // Telegram reports the URL as we gave it, so we give it in the one form that can be compared.
  .transform((url) => new URL(url).href);
const REDIS_NODE = /^rediss?:\/\/(?:[^@/?#]*@)?(?:\[[\da-f:.]+\]|[\w.-]+):[1-9]\d{0,4}\/?$/i;
const NODES_EXPECTED =
  'expected nodes of a cluster, comma separated, each host:port or redis(s)://user:password@host:port';
const SENTINELS_EXPECTED = 'expected sentinels, comma separated, each host:port or redis(s)://user:password@host:port';
const serverList = (expected: string) =>
  z
    .string()
    .transform((text) => text.split(',').map((node) => withScheme(node.trim())))
    .refine((nodes) => nodes.every(isNode), { error: expected, abort: true })
    .refine((nodes) => new Set(nodes.map(accessOf)).size <= 1, 'all must have the same scheme, user and password');
/** The master's name takes the place of the host. */
const MASTER_NAME = /^rediss?:\/\/(?:[^@/?#]*@)?[\w.-]+\/?$/i;
const sentinelMaster = z
  .string()
  .transform((text) => withScheme(text.trim()))
  .refine(
    (url) => MASTER_NAME.test(url) && URL.canParse(url) && canBeDecoded(url),
    'expected the name that the sentinels know, or redis(s)://user:password@name with what its servers ask for',
  );
const numericId = /^-?\d{1,16}$/;
const allowedIds = z
  .string()
  .transform((text) => text.split(',').map((id) => id.trim()))
  .refine(
    (ids) => ids.every((id) => id === '*' || numericId.test(id)),
    'expected numeric user or chat ids, comma separated, or *',
  )
  .transform((ids): AllowedIds => (ids.includes('*') ? 'everyone' : new Set(ids.map(Number))));
const alertChat = z
  .string()
  .refine((id) => id === 'none' || numericId.test(id), 'expected a numeric chat id, or none')
  .transform((id) => (id === 'none' ? undefined : Number(id)));

const flag = z
  .enum(['true', 'false'], { error: 'expected true or false' })
  .default('false')
  .transform((value) => value === 'true');
const timeZone = z.string().refine(isTimeZone, 'expected a time zone such as Europe/Berlin');

const environment = z.object({
  TELEGRAM_BOT_TOKEN: z
    .string()
    .regex(/^\d+:[\w-]+$/, 'expected a bot token as BotFather gives it, digits:letters')
    .default(''),
  TELEGRAM_API_ROOT: httpUrl.default('https://api.telegram.org'),
  TELEGRAM_ALLOWED_IDS: allowedIds.default(new Set<number>()),
  TELEGRAM_ALERT_CHAT_ID: alertChat.optional(),
  TELEGRAM_WEBHOOK_URL: webhookUrl.optional(),
  TELEGRAM_WEBHOOK_SECRET: z
    .string()
    .regex(/^[\w-]{1,256}$/, 'expected 1 to 256 characters of A-Z, a-z, 0-9, _ and -')
    .optional(),
  ANTHROPIC_API_KEY: z.string().default(''),
  ANTHROPIC_BASE_URL: httpUrl.default('https://api.anthropic.com'),
  MODEL: z.string().default('claude-opus-5-5'),
  FALLBACK_MODEL: z.string().optional(),
  COMPACTION_MODEL: z.string().optional(),
  MAX_OUTPUT_TOKENS: positive.default(16_000),
  EFFORT: z
    .enum(['low', 'medium', 'high', 'xhigh', 'max'], { error: 'expected low, medium, high, xhigh or max' })
    .optional(),
  MODEL_IDLE_TIMEOUT_MS: milliseconds.default(120_000),
  CONTEXT_WINDOW_TOKENS: positive.optional(),
  CONTEXT_BUDGET_TOKENS: positive.default(200_000),
  COMPACT_AT: share.default(0.7),
  COMPACTION_FROM_CACHE: flag,
  INBOUND_TEXT_MAX_CHARS: positive.default(200_000),
  TOOL_RESULT_MAX_CHARS: positive.default(16_000),
  TOOL_TIMEOUT_MS: milliseconds.default(60_000),
  TOOL_ROUNDS_MAX: positive.default(25),
  MODEL_PRICES_FILE: z.string().optional(),
  MCP_CONFIG: z.string().optional(),
  WEB_SEARCH: flag,
  WEB_FETCH: flag,
  TZ: timeZone.default('UTC'),
  SESSION_RETENTION_DAYS: positive.default(90),
  SYSTEM_PROMPT_FILE: z.string().optional(),
  COMPACTION_PRESERVE_FILE: z.string().optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'expected redis://… or rediss://…' }).optional(),
  REDIS_SENTINELS: serverList(SENTINELS_EXPECTED).optional(),
  REDIS_SENTINEL_MASTER: sentinelMaster.optional(),
  REDIS_CLUSTER_NODES: serverList(NODES_EXPECTED).optional(),
  SHARDS: positive.refine((value) => value <= SHARDS_MAX, `expected at most ${SHARDS_MAX}`).default(1),
  WORKER_CONCURRENCY: positive
    .refine((value) => value <= CONCURRENCY_MAX, `expected at most ${CONCURRENCY_MAX}`)
    .default(16),
  TURN_TIMEOUT_MS: milliseconds.default(300_000),
  RECOVERY_TIMEOUT_MS: milliseconds.default(600_000),
  OUTAGE_PATIENCE_MS: milliseconds.default(900_000),
  MAX_ATTEMPTS: positive.default(5),
  LANE_MAX_MESSAGES: positive.default(50),
  CHAT_DAILY_TOKENS: positive.optional(),
  TOTAL_DAILY_TOKENS: positive.optional(),
  UNANSWERED_ALERT_MS: milliseconds.default(120_000),
  DEADMAN_URL: pingUrl.optional(),
  ALERT_WEBHOOK_URL: pingUrl.optional(),
  HTTP_PORT: port.default(8080),
  HTTP_HOST: z.string().default('127.0.0.1'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'expected fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
  LOG_CONTENT: flag,
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  SPILLWAY_FAIL_AT: z
    .string()
    .regex(/^[a-z -]+:[1-9]\d*$/, 'expected name:nth')
    .optional(),
});

/** Ids that may talk to the bot; `everyone` only when the operator wrote `*`. */
export type AllowedIds = ReadonlySet<number> | 'everyone';

/** The whole environment, checked and typed. Every name below is the variable of the same name in `.env.example`. */
export type Config = Readonly<z.infer<typeof environment>>;

/** The URLs of some sentinels, any of which may be unreachable, and a URL with the master's name in place of a host. */
export interface SentinelAddress {
  readonly sentinels: readonly string[];
  readonly master: string;
}

/**
 * Where Redis is: a server's URL, the URLs of some nodes of a cluster (any of which may be unreachable), or a master
 * that sentinels watch.
 */
export type RedisAddress = string | readonly string[] | SentinelAddress;

/** The result of reading the environment: a config and its warnings, or every problem at once. */
export type ConfigReading = { ok: true; config: Config; warnings: string[] } | { ok: false; problems: string[] };

/**
 * Reads the environment for a role. Pure; an empty value counts as unset. Reports all problems at once, each with the
 * variable's name and what was expected. Problems never quote a value, which may be a secret.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>, role: Role): ConfigReading {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const missing = [...REQUIRED[role], ...pairsOf(set, role)]
    .filter((name) => set[name] === undefined)
    .map((name) => `${name} is required: ${hint(name)}`);
  const parsed = environment.safeParse(set);
  const malformed = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${String(issue.path[0])} is malformed: ${issue.message}`);
  const twice = malformed.some((problem) => problem.startsWith('REDIS_')) ? [] : twoPlaces(set);
  const problems = [...new Set([...missing, ...malformed, ...twice])];
  if (!parsed.success || problems.length > 0) return { ok: false, problems };
  return { ok: true, config: parsed.data, warnings: warnings(parsed.data, set) };
}

/** Reads this process's own environment. The only place that touches `process.env`. */
export function readProcessConfig(role: Role): ConfigReading {
  return readConfig(process.env, role);
}

/** Where the environment says that Redis is; `undefined` when the choice is ours. */
export function redisAddressOf(config: Config): RedisAddress | undefined {
  const { REDIS_SENTINELS: sentinels, REDIS_SENTINEL_MASTER: master } = config;
  if (sentinels !== undefined && master !== undefined) return { sentinels, master };
  return config.REDIS_CLUSTER_NODES ?? config.REDIS_URL;
}

/** The PATH of this process, for finding programs. */
export function programPath(): string {
  return process.env.PATH ?? '';
}

/** The settings that are required together, where one of the webhook or of the sentinels is set. */
function pairsOf(set: Record<string, unknown>, role: Role): readonly string[] {
  const pairs: (readonly string[])[] = RECEIVING.includes(role) ? [WEBHOOK, SENTINEL] : [SENTINEL];
  return pairs.filter((pair) => pair.some((name) => set[name] !== undefined)).flat();
}

function twoPlaces(set: Record<string, unknown>): string[] {
  const places = PLACES.filter((name) => set[name] !== undefined);
  return places.length < 2 ? [] : [`${places.join(' and ')} are set: only one of them can hold the data`];
}

function hint(name: string): string {
  if (name === 'TELEGRAM_BOT_TOKEN') return 'the token that BotFather gave you';
  if (name === 'TELEGRAM_ALLOWED_IDS') return 'numeric user or chat ids, comma separated; * opens the bot to all';
  if (name === 'TELEGRAM_ALERT_CHAT_ID') return 'the chat id for operator alerts, or none';
  if (name === 'TELEGRAM_WEBHOOK_URL') return 'where Telegram is to deliver, since TELEGRAM_WEBHOOK_SECRET is set';
  if (name === 'TELEGRAM_WEBHOOK_SECRET') return 'who has it may deliver, and TELEGRAM_WEBHOOK_URL is set';
  if (name === 'REDIS_SENTINELS') return 'where the sentinels are, since REDIS_SENTINEL_MASTER is set';
  if (name === 'REDIS_SENTINEL_MASTER') return 'the name that the sentinels know the master by';
  return 'the API key of the model endpoint';
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The URL has a port, and its percent-encoding can be decoded, as the password is decoded before it is sent. */
function isNode(url: string): boolean {
  return REDIS_NODE.test(url) && URL.canParse(url) && canBeDecoded(url);
}

function canBeDecoded(url: string): boolean {
  return /^(?:[^%]|%[0-7][\da-f])*$/i.test(url);
}

function withScheme(address: string): string {
  return address.includes('://') ? address : `redis://${address}`;
}

/** The part of a node's URL that applies to every node, including those that the cluster announces. */
function accessOf(url: string): string {
  const { protocol, username, password } = new URL(url);
  return JSON.stringify([protocol, username, password]);
}

function warnings(config: Config, set: Record<string, unknown>): string[] {
  const open = config.TELEGRAM_ALLOWED_IDS === 'everyone' ? ['TELEGRAM_ALLOWED_IDS is *: anybody can use the bot'] : [];
  const unused = NOT_YET.filter((name) => set[name] !== undefined).map(
    (name) => `${name} is set, but this version does not use it yet`,
  );
  const crowded = config.REDIS_CLUSTER_NODES !== undefined && config.SHARDS === 1 ? [ONE_SHARD] : [];
  return [...open, ...unused, ...crowded];
}
