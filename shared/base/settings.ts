import { resolve } from 'node:path';
import { z } from 'zod';
import { blobPlace } from './blob-place.ts';
import { type EnvFile, readEnvFile } from './env-file.ts';
import { HOME } from './project.ts';
import { useProxy } from './proxy.ts';
import { clusterNodes, sentinelMaster, sentinelNodes, serverUrl } from './redis-address.ts';
import {
  acceptedRisks,
  alertChat,
  allowedIds,
  apiKey,
  dollars,
  flag,
  hostNames,
  httpUrl,
  isVaried,
  messagesUpTo50,
  milliseconds,
  modelsUrl,
  names,
  oneOf,
  personIds,
  pingUrl,
  port,
  positive,
  processes,
  timeZone,
  traceUrl,
  upTo,
  webhookUrl,
} from './setting-forms.ts';
import { missingSettings, tooShort, twoPlaces, unreadNames, withoutEffect } from './setting-problems.ts';

/** The role of the process that reads the environment. The roles differ in the settings that they require. */
export type Role = 'gateway' | 'producer' | 'worker' | 'tool';

const environment = z.object({
  TELEGRAM_BOT_TOKEN: z
    .string()
    .regex(/^\d+:[\w-]+$/, 'expected a bot token as BotFather gives it, digits:letters')
    .default(''),
  TELEGRAM_API_ROOT: httpUrl.default('https://api.telegram.org'),
  TELEGRAM_ALLOWED_IDS: allowedIds.default(new Set<number>()),
  TELEGRAM_ANSWER_ALL_IDS: allowedIds.default(new Set<number>()),
  TELEGRAM_GUESTS: personIds.default(new Set<number>()),
  PAIRING: oneOf('off', 'on').default('off'),
  TELEGRAM_STREAMING: oneOf('draft', 'status', 'off').default('draft'),
  TELEGRAM_PACING: flag.default(true),
  TELEGRAM_LINK_PREVIEWS: flag.default(false),
  TELEGRAM_RICH: oneOf('auto', 'off', 'always').default('auto'),
  TELEGRAM_ALERT_CHAT_ID: alertChat.optional(),
  TELEGRAM_OPERATOR_IDS: personIds.optional(),
  TELEGRAM_WEBHOOK_URL: webhookUrl.optional(),
  TELEGRAM_WEBHOOK_SECRET: z
    .string()
    .regex(
      /^[\w-]{32,256}$/,
      'expected 32 to 256 characters of A-Z, a-z, 0-9, _ and -, as `openssl rand -hex 32` makes them',
    )
    .optional(),
  ANTHROPIC_API_KEY: z.string().default(''),
  ANTHROPIC_BASE_URL: modelsUrl.default('https://api.anthropic.com'),
  MODEL: z.string().default('claude-opus-5-5'),
  /** After `readSettings`, the models that a chat may choose from; the first is MODEL. */
  MODELS: names.default([]),
  FALLBACK_MODEL: z.string().optional(),
  /** After `readSettings`, MODEL by default. */
  COMPACTION_MODEL: z.string().optional(),
  MAX_OUTPUT_TOKENS: positive.default(16_000),
  EFFORT: oneOf('low', 'medium', 'high', 'xhigh', 'max').optional(),
  MODEL_IDLE_TIMEOUT_MS: milliseconds.default(120_000),
  CONTEXT_WINDOW_TOKENS: positive.optional(),
  CONTEXT_BUDGET_TOKENS: positive.default(200_000),
  GROUP_CONTEXT_MESSAGES: messagesUpTo50.default(0),
  TOOL_TIMEOUT_MS: milliseconds.default(60_000),
  MODEL_PRICES_FILE: z.string().optional(),
  MCP_CONFIG: z.string().optional(),
  MCP_SANDBOX: oneOf('auto', 'off').default('auto'),
  WEB_SEARCH: flag.default(false),
  WEB_FETCH: flag.default(false),
  REMINDER_MINUTES_MIN: upTo(1_440).default(60),
  TZ: timeZone.default('UTC'),
  SESSION_RETENTION_DAYS: positive.default(90),
  SESSION_IDLE_DAYS: positive.optional(),
  LEDGER_RETENTION_DAYS: positive.default(90),
  BLOB_URL: blobPlace.prefault('data/blobs'),
  SYSTEM_PROMPT_FILE: z.string().optional(),
  CHATS_FILE: z.string().optional(),
  COMPACTION_PRESERVE_FILE: z.string().optional(),
  TRANSCRIPTION_BASE_URL: pingUrl.optional(),
  TRANSCRIPTION_API_KEY: apiKey.optional(),
  TRANSCRIPTION_MODEL: z.string().optional(),
  REDIS_URL: serverUrl.optional(),
  REDIS_SENTINELS: sentinelNodes.optional(),
  REDIS_SENTINEL_MASTER: sentinelMaster.optional(),
  REDIS_CLUSTER_NODES: clusterNodes.optional(),
  REDIS_ACCEPT: acceptedRisks.default([]),
  WORKERS: processes.default(1),
  // Limited, because each shard has its own connections and services.
  SHARDS: upTo(256).default(1),
  // Limited, because each running turn holds a request in memory.
  WORKER_CONCURRENCY: upTo(1_000).default(16),
  TURN_TIMEOUT_MS: milliseconds.default(300_000),
  TURN_MAX_MS: milliseconds.default(1_800_000),
  OUTAGE_PATIENCE_MS: milliseconds.default(900_000),
  APPROVAL_TIMEOUT_MS: milliseconds.default(3_600_000),
  TOTAL_DAILY_USD: dollars.default(25),
  TOTAL_MONTHLY_USD: dollars.optional(),
  CHAT_DAILY_USD: dollars.optional(),
  CHAT_MONTHLY_USD: dollars.optional(),
  PERSON_DAILY_USD: dollars.optional(),
  PERSON_MONTHLY_USD: dollars.optional(),
  PRICE_UNKNOWN: oneOf('refuse', 'allow').default('refuse'),
  CHAT_DAILY_TOKENS: positive.optional(),
  TOTAL_DAILY_TOKENS: positive.optional(),
  UNANSWERED_ALERT_MS: milliseconds.default(120_000),
  INSTALLATION_NAME: z.string().max(64, 'expected at most 64 characters').optional(),
  DEADMAN_URL: pingUrl.optional(),
  ALERT_WEBHOOK_URL: pingUrl.optional(),
  ALERTMANAGER_URL: pingUrl.optional(),
  HTTP_PORT: port.default(8080),
  HTTP_HOST: z.string().default('127.0.0.1'),
  HTTP_ALLOWED_HOSTS: hostNames.default([]),
  OPERATOR_TOKEN: z
    .string()
    .regex(
      /^[\x21-\x7e]{32,256}$/,
      'expected 32 to 256 characters without spaces, as `openssl rand -hex 32` makes them',
    )
    .refine(isVaried, 'expected 8 different characters or more, as `openssl rand -hex 32` makes them')
    .optional(),
  LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info'),
  LOG_CONTENT: flag.default(false),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: httpUrl.optional(),
  TELEMETRY_CHAT_IDS: flag.default(false),
  TRACE_URL_TEMPLATE: traceUrl.optional(),
  RUNBOOK_URL: httpUrl.optional(),
  CONSOLE_URL: httpUrl.optional(),
  SPILLWAY_FAIL_AT: z
    .string()
    .regex(/^[a-z -]+:[1-9]\d*$/, 'expected name:nth')
    .optional(),
});

/** The ids of people and groups that may talk to the bot; `everyone` only if the operator wrote `*`. */
export type AllowedIds = ReadonlySet<number> | 'everyone';

/** Settings that no environment variable changes: one value suits every installation. Tests can change them in `Settings`. */
export const CONSTANTS = {
  /** A message or text file that is longer than this is cut. */
  INBOUND_TEXT_MAX_CHARS: 200_000,
  /** A tool result that is longer than this is cut; the model can read on with the tool `recall`. */
  TOOL_RESULT_MAX_CHARS: 16_000,
  /** The maximum number of rounds of tool calls for one message. After them the model must answer in words. */
  TOOL_ROUNDS_MAX: 25,
  /** The largest share of the model's window that a session may fill. A fuller session is compacted after a reply. */
  COMPACT_AT: 0.7,
  /** The megabytes of memory in which a worker process caches the decoded windows of sessions. */
  PROCESS_CACHE_MB: 64,
  /** The maximum number of attempts at a message. Attempts that end in a wait for the endpoint or Telegram do not count. */
  MAX_ATTEMPTS: 5,
  /** The maximum number of messages in a lane. A full lane refuses most further messages, but takes e.g. reminders. */
  LANE_MAX_MESSAGES: 50,
  /** The maximum number of dead letters that a shard keeps. */
  DEAD_LETTERS_MAX: 10_000,
  /** The time limit for the recovery of a message, summaries included, in addition to the time limit of its turn. */
  RECOVERY_TIMEOUT_MS: 600_000,
  /** The longest time that a finished answer waits for Telegram to accept messages again. */
  TELEGRAM_PATIENCE_MS: 86_400_000,
  /** A user whose message waits for the model's endpoint for longer than this gets one notice. */
  WAITING_NOTICE_MS: 60_000,
  /** The wait after the first failure in a row. The waits after further failures are longer. */
  RETRY_MS: 2_000,
  /**
   * The wait before a refused request is sent a second time, to confirm the refusal: long enough for a proxy to choose
   * another server, short enough for a person who waits.
   */
  DOUBT_WAIT_MS: 2_000,
  /** An album or a split text arrives as several messages, and nothing marks the last one: wait this long for the next one. */
  GATHER_WAIT_MS: 1_000,
  /** The time limit for a summary, retries included. A message can be answered without a summary. */
  SUMMARY_TIME_MS: 60_000,
};

type Environment = z.infer<typeof environment>;

/** The checked and typed environment variables, under their own names, with `CONSTANTS`. */
export type Settings = Readonly<Environment & typeof CONSTANTS & { COMPACTION_MODEL: string }>;

/** The operators: `TELEGRAM_OPERATOR_IDS`, or else the people on the allow list, where `*` stands for nobody. Pure. */
export function operatorsOf(settings: Settings): ReadonlySet<number> {
  const { TELEGRAM_ALLOWED_IDS } = settings;
  const people = TELEGRAM_ALLOWED_IDS === 'everyone' ? [] : [...TELEGRAM_ALLOWED_IDS].filter((id) => id > 0);
  return settings.TELEGRAM_OPERATOR_IDS ?? new Set(people);
}

/** The result of reading the environment: the settings and warnings, or all problems at once. */
export type SettingsReading =
  | { ok: true; settings: Settings; warnings: string[] }
  /** `rest`: the settings without the malformed ones, for checks that need only well-formed settings. */
  | { ok: false; problems: string[]; rest?: Settings };

/**
 * Reads the environment for a role. Pure; an empty value counts as unset. Reports all problems at once, each with the names of
 * its variables and with their expected form or their purpose. A problem never quotes a value, because a value may be a secret.
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>, role: Role): SettingsReading {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const parsed = environment.safeParse(set);
  const malformed = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${String(issue.path[0])} is malformed: ${issue.message}`);
  const severalPlaces = malformed.some((problem) => problem.startsWith('REDIS_')) ? [] : twoPlaces(set);
  const shortLimits = parsed.success ? tooShort(parsed.data, set) : [];
  const problems = [...new Set([...missingSettings(set, role), ...malformed, ...severalPlaces, ...shortLimits])];
  if (!parsed.success || problems.length > 0) return { ok: false, problems, ...restOf(set, malformed) };
  const settings = complete(parsed.data);
  const publicAccess =
    settings.TELEGRAM_ALLOWED_IDS === 'everyone' ? ['TELEGRAM_ALLOWED_IDS is *: anybody can use the bot'] : [];
  const constants = Object.entries(CONSTANTS).filter(([name]) => set[name] !== undefined);
  const unused = constants.map(([name, value]) => `${name} is set, but has no effect: it is always ${value}`);
  return { ok: true, settings, warnings: [...publicAccess, ...unused, ...withoutEffect(settings, set)] };
}

/** Adds the constants, and the defaults that depend on other settings. */
function complete(parsed: Environment): Settings {
  return {
    ...CONSTANTS,
    ...parsed,
    MODELS: [...new Set([parsed.MODEL, ...parsed.MODELS])],
    COMPACTION_MODEL: parsed.COMPACTION_MODEL ?? parsed.MODEL,
    TURN_MAX_MS: Math.max(parsed.TURN_MAX_MS, parsed.TURN_TIMEOUT_MS),
  };
}

function restOf(set: Record<string, unknown>, malformed: readonly string[]): { rest?: Settings } {
  const isSound = (name: string): boolean => !malformed.some((problem) => problem.startsWith(`${name} `));
  const { data } = environment.safeParse(Object.fromEntries(Object.entries(set).filter(([name]) => isSound(name))));
  return data === undefined ? {} : { rest: complete(data) };
}

/**
 * Adds the variables of the settings file to `process.env`, which the OpenTelemetry SDK also reads, and reads the settings from
 * there. A variable that the environment already has wins over the file. Also makes this process use the proxy, if any is set.
 */
export function readOwnSettings(role: Role): SettingsReading {
  const { values, problems: fileProblems, warnings: fileWarnings } = readSettingsFile();
  const missing = Object.entries(values).filter(([name]) => process.env[name] === undefined);
  Object.assign(process.env, Object.fromEntries(missing));
  const reading = readSettings(process.env, role);
  const validNames = Object.keys({ ...environment.shape, ...CONSTANTS });
  const warnings = [...fileWarnings, ...unreadNames(Object.keys(values), validNames)];
  const problems = [...fileProblems, ...useProxy(process.env)];
  if (problems.length === 0) return reading.ok ? { ...reading, warnings: [...warnings, ...reading.warnings] } : reading;
  // If the file gave no values, the other problems would only list settings that the file may contain.
  const isUnread = fileProblems.length > 0 && Object.keys(values).length === 0;
  const others = reading.ok || isUnread ? [] : reading.problems;
  return { ok: false, problems: [...problems, ...others], ...(!reading.ok && reading.rest && { rest: reading.rest }) };
}

/** The environment of this process. After `readOwnSettings` it includes the settings file. */
export function ownEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** The path of the settings file: `SPILLWAY_ENV_FILE`, or `.env` in `HOME`; `undefined` if `SPILLWAY_ENV_FILE` is `none`. */
export function settingsFile(): string | undefined {
  const path = process.env.SPILLWAY_ENV_FILE?.trim();
  return path === 'none' ? undefined : resolve(HOME, path || '.env');
}

/** Reads the settings file. A missing file is a problem only if `SPILLWAY_ENV_FILE` names it. */
function readSettingsFile(): EnvFile {
  const file = settingsFile();
  if (file === undefined) return { values: {}, problems: [], warnings: [] };
  const contents = readEnvFile(file);
  if (contents !== undefined) return contents;
  const isNamed = process.env.SPILLWAY_ENV_FILE?.trim();
  return {
    values: {},
    problems: isNamed ? [`SPILLWAY_ENV_FILE names ${file}, which does not exist`] : [],
    warnings: [],
  };
}

/** The `PATH` of this process, in which programs are looked up. */
export function programPath(): string {
  return process.env.PATH ?? '';
}
