import { z } from 'zod';

/** Who asks: each role needs its own part of the environment and ignores the rest. */
export type Role = 'gateway' | 'producer' | 'worker' | 'tool';

const REQUIRED: Record<Role, readonly string[]> = {
  gateway: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOWED_IDS', 'TELEGRAM_ALERT_CHAT_ID', 'ANTHROPIC_API_KEY'],
  producer: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOWED_IDS'],
  worker: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALERT_CHAT_ID', 'ANTHROPIC_API_KEY'],
  tool: [],
};

/** Names that the interface reserves for features which this version does not have yet. */
const NOT_YET = [
  'TELEGRAM_WEBHOOK_URL',
  'TELEGRAM_WEBHOOK_SECRET',
  'PINNED_MAX_CHARS',
  'REDIS_CLUSTER_NODES',
  'OPERATOR_TOKEN',
];

/** Each shard has connections and services of its own, and each chat in parallel a request in memory. */
const SHARDS_MAX = 256;
const CONCURRENCY_MAX = 1_000;
/** A timer of more fires at once. */
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
const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http or https URL' });
/** A request to a URL with a user name in it fails, and always would. */
const pingUrl = httpUrl.refine(
  (url) => URL.parse(url)?.username === '',
  'expected an http or https URL without a user name',
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

const environment = z.object({
  TELEGRAM_BOT_TOKEN: z
    .string()
    .regex(/^\d+:[\w-]+$/, 'expected a bot token as BotFather gives it, digits:letters')
    .default(''),
  TELEGRAM_API_ROOT: httpUrl.default('https://api.telegram.org'),
  TELEGRAM_ALLOWED_IDS: allowedIds.default(new Set<number>()),
  TELEGRAM_ALERT_CHAT_ID: alertChat.optional(),
  ANTHROPIC_API_KEY: z.string().default(''),
  ANTHROPIC_BASE_URL: httpUrl.default('https://api.anthropic.com'),
  MODEL: z.string().default('claude-opus-5-5'),
  FALLBACK_MODEL: z.string().optional(),
  COMPACTION_MODEL: z.string().optional(),
  MAX_OUTPUT_TOKENS: positive.default(4096),
  CONTEXT_WINDOW_TOKENS: positive.optional(),
  COMPACT_AT: share.default(0.7),
  INBOUND_TEXT_MAX_CHARS: positive.default(200_000),
  TOOL_RESULT_MAX_CHARS: positive.default(16_000),
  TOOL_TIMEOUT_MS: milliseconds.default(60_000),
  TOOL_ROUNDS_MAX: positive.default(25),
  MCP_CONFIG: z.string().optional(),
  SESSION_RETENTION_DAYS: positive.default(90),
  SYSTEM_PROMPT_FILE: z.string().optional(),
  COMPACTION_PRESERVE_FILE: z.string().optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'expected redis://… or rediss://…' }).optional(),
  SHARDS: positive.refine((value) => value <= SHARDS_MAX, `expected at most ${SHARDS_MAX}`).default(1),
  WORKER_CONCURRENCY: positive
    .refine((value) => value <= CONCURRENCY_MAX, `expected at most ${CONCURRENCY_MAX}`)
    .default(16),
  TURN_TIMEOUT_MS: milliseconds.default(300_000),
  MAX_ATTEMPTS: positive.default(5),
  LANE_MAX_MESSAGES: positive.default(50),
  CHAT_DAILY_TOKENS: positive.optional(),
  TOTAL_DAILY_TOKENS: positive.optional(),
  UNANSWERED_ALERT_MS: milliseconds.default(120_000),
  DEADMAN_URL: pingUrl.optional(),
  HTTP_PORT: port.default(8080),
  HTTP_HOST: z.string().default('127.0.0.1'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'expected fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
  LOG_CONTENT: z
    .enum(['true', 'false'], { error: 'expected true or false' })
    .default('false')
    .transform((value) => value === 'true'),
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

/** What reading the environment came to: a config and its warnings, or every problem at once. */
export type ConfigReading = { ok: true; config: Config; warnings: string[] } | { ok: false; problems: string[] };

/**
 * Reads the environment for a role. Pure; an empty value counts as unset. All problems are found in one go, each by
 * the variable's name with what was expected. Values are never quoted in a problem, since they may be secrets.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>, role: Role): ConfigReading {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const missing = REQUIRED[role]
    .filter((name) => set[name] === undefined)
    .map((name) => `${name} is required: ${hint(name)}`);
  const parsed = environment.safeParse(set);
  const malformed = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${String(issue.path[0])} is malformed: ${issue.message}`);
  const problems = [...new Set([...missing, ...malformed])];
  if (!parsed.success || problems.length > 0) return { ok: false, problems };
  return { ok: true, config: parsed.data, warnings: warnings(parsed.data, set) };
}

/** Reads this process's own environment. The only place that touches `process.env`. */
export function readProcessConfig(role: Role): ConfigReading {
  return readConfig(process.env, role);
}

/** The PATH of this process, for finding programs. */
export function programPath(): string {
  return process.env.PATH ?? '';
}

function hint(name: string): string {
  if (name === 'TELEGRAM_BOT_TOKEN') return 'the token that BotFather gave you';
  if (name === 'TELEGRAM_ALLOWED_IDS') return 'numeric user or chat ids, comma separated; * opens the bot to all';
  if (name === 'TELEGRAM_ALERT_CHAT_ID') return 'the chat id for operator alerts, or none';
  return 'the API key of the model endpoint';
}

function warnings(config: Config, set: Record<string, unknown>): string[] {
  const open = config.TELEGRAM_ALLOWED_IDS === 'everyone' ? ['TELEGRAM_ALLOWED_IDS is *: anybody can use the bot'] : [];
  const unused = NOT_YET.filter((name) => set[name] !== undefined).map(
    (name) => `${name} is set, but this version does not use it yet`,
  );
  return [...open, ...unused];
}
