import leven from 'leven';
import type { Role, Settings } from './settings.ts';
import { unusedExporterSettings } from './signals.ts';

const REQUIRED: Record<Role, readonly string[]> = {
  gateway: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOWED_IDS', 'TELEGRAM_ALERT_CHAT_ID', 'ANTHROPIC_API_KEY'],
  producer: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOWED_IDS'],
  worker: ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALERT_CHAT_ID', 'ANTHROPIC_API_KEY'],
  tool: [],
};

/** Required together: without the URL Telegram delivers nothing, and without the secret anybody could forge a delivery. */
const WEBHOOK = ['TELEGRAM_WEBHOOK_URL', 'TELEGRAM_WEBHOOK_SECRET'] as const;
const SENTINEL = ['REDIS_SENTINELS', 'REDIS_SENTINEL_MASTER'] as const;
/** Required together. `TRANSCRIPTION_API_KEY` is optional, because some endpoints need no key. */
const TRANSCRIPTION = ['TRANSCRIPTION_BASE_URL', 'TRANSCRIPTION_MODEL'] as const;
const WHAT_FOR: Readonly<Record<string, string>> = {
  TELEGRAM_BOT_TOKEN: 'the token that BotFather gave you',
  TELEGRAM_ALLOWED_IDS: 'numeric user or chat ids, comma separated; * opens the bot to all',
  TELEGRAM_ALERT_CHAT_ID: 'the chat id for operator alerts, or none',
  TELEGRAM_WEBHOOK_URL: 'where Telegram is to deliver, since TELEGRAM_WEBHOOK_SECRET is set',
  TELEGRAM_WEBHOOK_SECRET: 'who has it may deliver, and TELEGRAM_WEBHOOK_URL is set',
  ANTHROPIC_API_KEY: 'the API key of the model endpoint',
  REDIS_SENTINELS: 'where the sentinels are, since REDIS_SENTINEL_MASTER is set',
  REDIS_SENTINEL_MASTER: 'the name that the sentinels know the master by',
  TRANSCRIPTION_BASE_URL: 'where speech is turned into text, to which /audio/transcriptions is added',
  TRANSCRIPTION_MODEL: 'the name of the model behind TRANSCRIPTION_BASE_URL',
};
const RECEIVING: readonly Role[] = ['gateway', 'producer'];
/** The roles that answer messages, and therefore transcribe recordings. */
const ANSWERING: readonly Role[] = ['gateway', 'worker'];

/** Reports the unset settings that a role requires, each with its purpose. */
export function missingSettings(set: Readonly<Record<string, unknown>>, role: Role): string[] {
  return [...REQUIRED[role], ...pairsOf(set, role)]
    .filter((name) => set[name] === undefined)
    .map((name) => `${name} is required: ${WHAT_FOR[name]}`);
}

const PLACES = ['REDIS_URL', 'REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'] as const;

/** Reports a problem if the settings name more than one place for the data. Pure. */
export function twoPlaces(set: Record<string, unknown>): string[] {
  const places = PLACES.filter((name) => set[name] !== undefined);
  return places.length < 2 ? [] : [`${places.join(' and ')} are set: only one of them can hold the data`];
}

type Limits = Pick<Settings, 'TURN_MAX_MS' | 'TURN_TIMEOUT_MS'>;

/** Reports a `TURN_MAX_MS` that is set below `TURN_TIMEOUT_MS`. If `TURN_MAX_MS` is unset, `complete` raises it. Pure. */
export function tooShort({ TURN_MAX_MS, TURN_TIMEOUT_MS }: Limits, set: Readonly<Record<string, unknown>>): string[] {
  const isShort = set.TURN_MAX_MS !== undefined && TURN_MAX_MS < TURN_TIMEOUT_MS;
  return isShort ? ['TURN_MAX_MS is too short: expected at least TURN_TIMEOUT_MS'] : [];
}

/** The settings that are required because other settings are set. */
function pairsOf(set: Readonly<Record<string, unknown>>, role: Role): readonly string[] {
  const pairs: (readonly string[])[] = RECEIVING.includes(role) ? [WEBHOOK, SENTINEL] : [SENTINEL];
  const required = pairs.filter((pair) => pair.some((name) => set[name] !== undefined)).flat();
  const isForVoice = [...TRANSCRIPTION, 'TRANSCRIPTION_API_KEY'].some((name) => set[name] !== undefined);
  return ANSWERING.includes(role) && isForVoice ? [...required, ...TRANSCRIPTION] : required;
}

const ONE_SHARD =
  'SHARDS is 1, so all data lies on one node of the Redis Cluster; set it before there is data, it cannot be changed later';

/** Warns of settings that do not have the effect that their author may expect. `set`: all settings that are not empty. Pure. */
export function withoutEffect(settings: Settings, set: Readonly<Record<string, unknown>>): string[] {
  return [
    ...(settings.REDIS_CLUSTER_NODES !== undefined && settings.SHARDS === 1 ? [ONE_SHARD] : []),
    ...unusedExporterSettings(set),
  ];
}

/** Names in a settings file for other readers: OpenTelemetry, the S3 client, Node, npm, Compose, and `useProxy`. */
const READ_BY_OTHERS =
  /^(?:OTEL_|AWS_|NODE_|npm_|COMPOSE_|GRAFANA_ADMIN_PASSWORD$|REDIS_PASSWORD$|TRACES_KEPT_PERCENT$|(?:https?|no)_proxy$)/i;

/** Reports names in a settings file that nothing reads, each with the most similar valid name, if any is similar. Pure. */
export function unreadNames(names: readonly string[], validNames: readonly string[]): string[] {
  const unread = names.filter((name) => !validNames.includes(name) && !READ_BY_OTHERS.test(name));
  return unread.map((name) => {
    const suggestion = nearName(name, validNames);
    return `${name} is set, but nothing reads it${suggestion === undefined ? '' : `: did you mean ${suggestion}?`}`;
  });
}

/** The maximum number of edits from a misspelt name to the name that it means, as a share of the misspelt name's length. */
const WRONG_SHARE = 1 / 3;

/** The valid name that a misspelt name probably means; `undefined` if none is similar enough. Pure. */
export function nearName(misspelt: string, validNames: readonly string[]): string | undefined {
  const candidates = validNames.map((name) => ({ name, edits: leven(misspelt, name) }));
  const [best] = candidates.toSorted((one, other) => one.edits - other.edits);
  return best !== undefined && best.edits <= misspelt.length * WRONG_SHARE ? best.name : undefined;
}
