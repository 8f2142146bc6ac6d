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

/** The role that reads the environment: each needs its own part and ignores the rest. */
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
  /** Once read, the models that a chat may choose from; the first is MODEL. */
  MODELS: names.default([]),
  FALLBACK_MODEL: z.string().optional(),
  /** Once read, MODEL where none is named. */
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
  // Each shard has its own connections and services.
  SHARDS: upTo(256).default(1),
  // Each turn that runs holds a request in memory.
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

/** Ids that may talk to the bot; `everyone` only when the operator wrote `*`. */
export type AllowedIds = ReadonlySet<number> | 'everyone';

/**
 * The settings that no variable sets, because one value is right everywhere. They stand beside the others so that a test can
 * play another value.
 */
export const CONSTANTS = {
  /** A longer message or text file is cut. */
  INBOUND_TEXT_MAX_CHARS: 200_000,
  /** A longer tool result is cut; the model can read on in the rest. */
  TOOL_RESULT_MAX_CHARS: 16_000,
  /** Tool rounds for one message; after them the model must answer in words. */
  TOOL_ROUNDS_MAX: 25,
  /** The share of the window at which a session is compacted after a reply. */
  COMPACT_AT: 0.7,
  /** What a process keeps of chats in memory: the windows that it has read, and the indexes of `recall`. */
  PROCESS_CACHE_MB: 64,
  /** Attempts at a message, if something other than the endpoint fails. */
  MAX_ATTEMPTS: 5,
  /** A message that finds so many of its chat waiting is refused. */
  LANE_MAX_MESSAGES: 50,
  /** Dead letters that a shard keeps. */
  DEAD_LETTERS_MAX: 10_000,
  /** How long the recovery of a message may take besides its turn, summaries included. */
  RECOVERY_TIMEOUT_MS: 600_000,
  /** How long a finished answer waits for a Telegram that is away. */
  TELEGRAM_PATIENCE_MS: 86_400_000,
  /** A user whose message waits longer is notified, once. */
  WAITING_NOTICE_MS: 60_000,
  /** The wait after the first failure of a kind; later ones grow from it. */
  RETRY_MS: 2_000,
  /**
   * How long after a refusal the same request is sent once more, before the refusal is believed: long enough for a proxy to
   * have chosen another server, short enough for a person who waits.
   */
  DOUBT_WAIT_MS: 2_000,
  /** A message of several pieces waits until no more arrive for so long: nothing marks the last one. */
  GATHER_WAIT_MS: 1_000,
  /** How long a summary may take, whatever the summariser does: there is a way on without one. */
  SUMMARY_TIME_MS: 60_000,
};

type Environment = z.infer<typeof environment>;

/** The whole environment, checked and typed, with the constants. Every other name is the variable of the same name. */
export type Settings = Readonly<Environment & typeof CONSTANTS & { COMPACTION_MODEL: string }>;

/** The people who may act as operators. With everybody allowed, nobody is one until somebody says who. Pure. */
export function operatorsOf(settings: Settings): ReadonlySet<number> {
  const { TELEGRAM_ALLOWED_IDS } = settings;
  const people = TELEGRAM_ALLOWED_IDS === 'everyone' ? [] : [...TELEGRAM_ALLOWED_IDS].filter((id) => id > 0);
  return settings.TELEGRAM_OPERATOR_IDS ?? new Set(people);
}

/** The result of reading the environment: the settings and what to warn of, or every problem at once. */
export type SettingsReading =
  | { ok: true; settings: Settings; warnings: string[] }
  /** `rest`: the settings as they are without the malformed ones, for trying what these have no part in. */
  | { ok: false; problems: string[]; rest?: Settings };

/**
 * Reads the environment for a role. Pure; an empty value counts as unset. Reports all problems at once, each with the
 * variable's name and what was expected. Problems never quote a value, which may be a secret.
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>, role: Role): SettingsReading {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const parsed = environment.safeParse(set);
  const malformed = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${String(issue.path[0])} is malformed: ${issue.message}`);
  const twice = malformed.some((problem) => problem.startsWith('REDIS_')) ? [] : twoPlaces(set);
  const short = parsed.success ? tooShort(parsed.data, set) : [];
  const problems = [...new Set([...missingSettings(set, role), ...malformed, ...twice, ...short])];
  if (!parsed.success || problems.length > 0) return { ok: false, problems, ...restOf(set, malformed) };
  const settings = completed(parsed.data);
  const open =
    settings.TELEGRAM_ALLOWED_IDS === 'everyone' ? ['TELEGRAM_ALLOWED_IDS is *: anybody can use the bot'] : [];
  const constants = Object.entries(CONSTANTS).filter(([name]) => set[name] !== undefined);
  const idle = constants.map(([name, value]) => `${name} is set, but has no effect: it is always ${value}`);
  return { ok: true, settings, warnings: [...open, ...idle, ...withoutEffect(settings, set)] };
}

/** The settings of an environment, with those that follow from others. */
function completed(read: Environment): Settings {
  return {
    ...CONSTANTS,
    ...read,
    MODELS: [...new Set([read.MODEL, ...read.MODELS])],
    COMPACTION_MODEL: read.COMPACTION_MODEL ?? read.MODEL,
    TURN_MAX_MS: Math.max(read.TURN_MAX_MS, read.TURN_TIMEOUT_MS),
  };
}

function restOf(set: Record<string, unknown>, malformed: readonly string[]): { rest?: Settings } {
  const isSound = (name: string): boolean => !malformed.some((problem) => problem.startsWith(`${name} `));
  const { data } = environment.safeParse(Object.fromEntries(Object.entries(set).filter(([name]) => isSound(name))));
  return data === undefined ? {} : { rest: completed(data) };
}

/**
 * Reads this process's own environment, after what the settings file adds to it; a variable that is set already wins.
 * The environment is changed, because telemetry reads it too.
 */
export function readOwnSettings(role: Role): SettingsReading {
  const { values, problems: unreadable, warnings: noted } = readSettingsFile();
  const missing = Object.entries(values).filter(([name]) => process.env[name] === undefined);
  Object.assign(process.env, Object.fromEntries(missing));
  const reading = readSettings(process.env, role);
  const said = [...noted, ...unreadNames(Object.keys(values), Object.keys({ ...environment.shape, ...CONSTANTS }))];
  const problems = [...unreadable, ...useProxy(process.env)];
  if (problems.length === 0) return reading.ok ? { ...reading, warnings: [...said, ...reading.warnings] } : reading;
  // Without its file the rest would only be a list of all that it may have held.
  const others = reading.ok || Object.keys(values).length === 0 ? [] : reading.problems;
  return { ok: false, problems: [...problems, ...others], ...(!reading.ok && reading.rest && { rest: reading.rest }) };
}

/** This process's own environment: as it was given, and after `readProcessConfig` with what the settings file adds. */
export function ownEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** Where the settings file is: `.env` of our folder, or what `SPILLWAY_ENV_FILE` names; undefined for `none`. */
export function settingsFile(): string | undefined {
  const named = process.env.SPILLWAY_ENV_FILE?.trim();
  return named === 'none' ? undefined : resolve(HOME, named || '.env');
}

/** Only a file that somebody named must be there. */
function readSettingsFile(): EnvFile {
  const file = settingsFile();
  if (file === undefined) return { values: {}, problems: [], warnings: [] };
  const read = readEnvFile(file);
  if (read !== undefined) return read;
  const isNamed = process.env.SPILLWAY_ENV_FILE?.trim();
  return {
    values: {},
    problems: isNamed ? [`SPILLWAY_ENV_FILE names ${file}, which does not exist`] : [],
    warnings: [],
  };
}

/** The PATH of this process, for finding programs. */
export function programPath(): string {
  return process.env.PATH ?? '';
}
