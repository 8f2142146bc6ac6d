import { type Config, processEnvironment } from '../../shared/base/config.ts';
import { createLogger } from '../../shared/base/log.ts';
import { proxyInWords, proxyOf } from '../../shared/base/proxy.ts';
import { redisAddressOf } from '../../shared/base/redis-address.ts';
import { signalsOf } from '../../shared/base/signals.ts';
import { counted } from '../../shared/base/text.ts';
import { OWN_TOOLS } from '../chat-table.ts';
import type { ChatTable } from '../lane/chat-settings.ts';
import { fitPicture } from '../media/decoding.ts';
import { judgeSettingFiles, type SettingFiles } from '../settings.ts';
import type { ToolSpec } from '../tools/toolbox.ts';
import { checkBlobs, checkPort } from './check-machine.ts';
import { askWindow, checkLives, checkModel, checkMoney, checkRoom, type StatedWindow } from './check-model.ts';
import { checkRedis, reachRedis } from './check-redis.ts';
import { checkTelegram, checkWatchers } from './check-telegram.ts';
import { advised, type Finding, failed, fine } from './terminal.ts';
import type { Call } from './verb.ts';

/** A server that is downloaded first, as npx does, needs time. */
const TOOLS_DEADLINE_MS = 30_000;
/** Longer than the SDK itself tries: ten seconds. */
const TELEMETRY_DEADLINE_MS = 12_000;
const SECRETS = '.env and its keys, the conversations in Redis and all files included';

/** Checks the configuration and every connection; of wrong settings, all that they have no part in. */
export async function check({ isJson, terminal }: Call): Promise<number> {
  const reading = terminal.readConfig('gateway');
  const files = await judgeSettingFiles(reading);
  const problems = [...(reading.ok ? [] : reading.problems), ...files.problems];
  const warnings = reading.ok ? reading.warnings : [];
  const config = reading.ok ? reading.config : reading.rest;
  const findings = config === undefined ? [] : await tryAll(config, files, problems);
  if (isJson) {
    const settings = [
      ...problems.map((problem) => failed('settings', problem)),
      ...warnings.map((odd) => advised('settings', odd)),
    ];
    const ok = problems.length === 0 && findings.every((finding) => finding.ok);
    terminal.line(JSON.stringify({ ok, parts: [...settings, ...findings] }));
  } else {
    for (const warning of warnings) terminal.note(`warning: ${warning}`);
    for (const problem of problems) terminal.note(problem);
    for (const finding of findings) terminal.line(`${markOf(finding)} ${finding.part}: ${finding.detail}`);
  }
  if (problems.length > 0) return WRONG_SETTINGS;
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

const WRONG_SETTINGS = 2;
/** The settings of which a part needs every one, by their names. */
const OF_REDIS = /^(?:REDIS_|SHARDS|BLOB_URL)/;
const OF_TELEGRAM = /^TELEGRAM_(?:BOT_TOKEN|API_ROOT|ALERT_CHAT_ID|WEBHOOK_)/;
const OF_MODEL = /^(?:ANTHROPIC_\w+|MODEL|CONTEXT_WINDOW_TOKENS) /;
const OF_TELEMETRY = /^OTEL_/;

/** Tries everything that a start and a first message need. Skips parts whose own settings have problems. */
async function tryAll(config: Config, files: SettingFiles, problems: readonly string[]): Promise<Finding[]> {
  const isSound = (names: RegExp): boolean => !problems.some((problem) => names.test(problem));
  const where = (names: RegExp, tries: () => Promise<Finding | Finding[]>[]) => (isSound(names) ? tries() : []);
  // A private server is looked for, and fetched, by settings that may start.
  const isOwn = redisAddressOf(config) === undefined;
  const redis = isSound(OF_REDIS) && !(isOwn && problems.length > 0) ? await reachRedis(config) : undefined;
  const stated = isSound(OF_MODEL) ? askWindow(config) : Promise.resolve({ isKnown: false });
  try {
    const all = await Promise.all([
      ...(redis ? [checkRedis(config, redis), checkBlobs(config, redis)] : []),
      ...where(OF_TELEGRAM, () => [checkTelegram(config)]),
      ...where(OF_MODEL, () => [checkModel(config, stated), checkLives(config), checkTools(config, files, stated)]),
      checkDecoder(),
      ...(redis && isSound(/^HTTP_/) ? [checkPort(config, redis)] : []),
      checkMoney(config, files.prices),
      checkWatchers(config),
      ...where(OF_TELEMETRY, () => [checkTelemetry(config)]),
      checkProxy(config),
    ]);
    return all.flat();
  } finally {
    await redis?.stop();
  }
}

/** Sends a span and a metric, each named as of this check, where a start would send any. */
async function checkTelemetry(config: Config): Promise<Finding[]> {
  const signals = signalsOf(config, processEnvironment());
  const addresses = [...new Set(Object.values(signals))];
  if (addresses.length === 0) return [];
  const { tryExport } = await import('../../shared/base/exporter.ts');
  const failures = await tryExport('spillway-check', signals, TELEMETRY_DEADLINE_MS);
  if (failures === '') return [fine('telemetry', `${addresses.join(', ')} took a span and a metric`)];
  return [failed('telemetry', `${failures}; check OTEL_EXPORTER_OTLP_ENDPOINT, its protocol and headers`)];
}

/** Says what goes through a proxy, and what does not although one is set. */
function checkProxy(config: Config): Finding[] {
  const env = processEnvironment();
  const proxy = proxyOf(env);
  if (proxy === undefined) return [];
  const direct = [
    ...(Object.keys(signalsOf(config, env)).length > 0 ? ['telemetry'] : []),
    ...(config.BLOB_URL.kind === 's3' ? ['the bucket'] : []),
  ];
  const words = `${proxyInWords(proxy)}; Redis and this machine are reached directly`;
  if (direct.length === 0) return [fine('proxy', words)];
  return [advised('proxy', `${words}, and so are ${direct.join(' and ')}, which use no proxy`)];
}

/** Of the same width each. */
function markOf({ ok, isAdvice }: Finding): string {
  if (!ok) return 'FAILED';
  return isAdvice ? 'advice' : 'ok    ';
}

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAkQBADs=', 'base64');

/** A running gateway starts the decoder with the first file; what is missing for it is reported here. */
async function checkDecoder(): Promise<Finding[]> {
  const read = await fitPicture(PIXEL).catch((error: Error) => ({ ok: false, why: error.message }) as const);
  if (read.ok) return [];
  return [failed('pictures', `${read.why}; install the optional packages too`)];
}

/**
 * Starts the tool servers, and says whether a first message fits beside what every request holds with their tools. An
 * omitted tool is not a failure: the gateway runs without it.
 */
async function checkTools(
  config: Config,
  { servers, systemPrompt: system, chats }: SettingFiles,
  stated: Promise<StatedWindow>,
): Promise<Finding[]> {
  if (servers.length === 0) return [await checkRoom(config, { system, tools: [] }, stated)];
  const { startConfinedMcp } = await import('../tools/mcp/client.ts');
  const log = createLogger('silent');
  const limits = { timeoutMs: TOOLS_DEADLINE_MS, startMs: TOOLS_DEADLINE_MS };
  const tools = await startConfinedMcp(config, servers, { limits, log });
  try {
    const findings = tools.state().map(({ server, problem, unconfined: why, tools: count, omitted }) => {
      const named = omitted.map(({ tool, why }) => `${JSON.stringify(tool)} (${why})`).join(', ');
      const detail = `${counted(count, 'tool')}${omitted.length === 0 ? '' : `; ${omitted.length} left out: ${named}`}`;
      const open = why === undefined ? '' : `; NOT sandboxed (${why}): it can read what the gateway can, ${SECRETS}`;
      const found = { part: `tools of ${server}`, ok: problem === undefined, detail: `${problem ?? detail}${open}` };
      return why === undefined ? found : { ...found, isAdvice: true };
    });
    const room = await checkRoom(config, { system, tools: tools.specs() }, stated);
    return [...findings, ...checkNamedTools(chats, tools.specs()), room];
  } finally {
    await tools.stop();
  }
}

/** Names the tools that CHATS_FILE gives to a chat and that no server offers now: they may be misspelt. */
function checkNamedTools(chats: ChatTable, specs: readonly ToolSpec[]): Finding[] {
  const known = new Set([...OWN_TOOLS, ...specs.map(({ name }) => name)]);
  return [...chats].flatMap(([chat, { tools = [] }]) => {
    const missing = tools.filter((name) => !known.has(name) && !name.endsWith('__*'));
    return missing.length === 0 ? [] : [advised(`tools of chat ${chat}`, `no server offers ${missing.join(', ')}`)];
  });
}
