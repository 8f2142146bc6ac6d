import { createLogger } from '../../shared/base/log.ts';
import { proxyInWords, proxyOf } from '../../shared/base/proxy.ts';
import { redisAddressOf } from '../../shared/base/redis-address.ts';
import { ownEnvironment, type Settings } from '../../shared/base/settings.ts';
import { signalsOf } from '../../shared/base/signals.ts';
import { counted } from '../../shared/base/text.ts';
import { OWN_TOOLS } from '../chat-table.ts';
import type { McpServerState } from '../features/mcp/toolbox.ts';
import { fitPicture } from '../media/decoding.ts';
import { judgeSettingFiles, type SettingFiles } from '../setting-files.ts';
import { checkBlobs, checkPort } from './check-machine.ts';
import { askWindow, checkLives, checkModel, checkMoney, checkRoom } from './check-model.ts';
import { checkRedis, reachRedis } from './check-redis.ts';
import { checkAlerts, checkBot, checkWatchers } from './check-telegram.ts';
import { advised, type Finding, failed, fine, type Ground } from './finding.ts';
import type { Call } from './verb.ts';

/** A server that is downloaded first, as npx does, needs time. */
const TOOLS_DEADLINE_MS = 30_000;
/** Longer than the SDK itself tries: ten seconds. */
const TELEMETRY_DEADLINE_MS = 12_000;
const WRONG_SETTINGS = 2;

/** One check, and the settings of which it needs every one, by their names. */
interface Check {
  needs?: RegExp;
  needsRedis?: true;
  run: (ground: Ground) => Finding[] | Promise<Finding[]>;
}

const OF_REDIS = /^(?:REDIS_|SHARDS|BLOB_URL)/;
const OF_TELEGRAM = /^TELEGRAM_(?:BOT_TOKEN|API_ROOT|ALERT_CHAT_ID|WEBHOOK_)/;
const OF_MODEL = /^(?:ANTHROPIC_\w+|MODEL|CONTEXT_WINDOW_TOKENS) /;

/** Everything that a start and a first message need, in the order of the output. */
const CHECKS: readonly Check[] = [
  { needsRedis: true, run: checkRedis },
  { needsRedis: true, run: checkBlobs },
  { needs: OF_TELEGRAM, run: checkBot },
  { needs: OF_TELEGRAM, run: checkAlerts },
  { needs: OF_MODEL, run: checkModel },
  { needs: OF_MODEL, run: checkLives },
  { needs: OF_MODEL, run: checkTools },
  { run: checkDecoder },
  { needsRedis: true, needs: /^HTTP_/, run: checkPort },
  { run: checkMoney },
  { run: checkWatchers },
  { needs: /^OTEL_/, run: checkTelemetry },
  { run: checkProxy },
];

/** Checks the configuration and every connection; of wrong settings, all that they have no part in. */
export async function check({ isJson, terminal }: Call): Promise<number> {
  const reading = terminal.readConfig('gateway');
  const files = await judgeSettingFiles(reading);
  const problems = [...(reading.ok ? [] : reading.problems), ...files.problems];
  const warnings = reading.ok ? reading.warnings : [];
  const settings = reading.ok ? reading.settings : reading.rest;
  const findings = settings === undefined ? [] : await runAll(settings, files, problems);
  const isWell = problems.length === 0 && findings.every(({ ok }) => ok);
  if (isJson) {
    const wrong = problems.map((problem) => failed('settings', problem));
    const odd = warnings.map((warning) => advised('settings', warning));
    terminal.line(JSON.stringify({ ok: isWell, parts: [...wrong, ...odd, ...findings] }));
  } else {
    for (const line of [...warnings.map((warning) => `warning: ${warning}`), ...problems]) terminal.note(line);
    for (const finding of findings) terminal.line(`${markOf(finding)} ${finding.part}: ${finding.detail}`);
  }
  if (problems.length > 0) return WRONG_SETTINGS;
  return isWell ? 0 : 1;
}

function markOf({ ok, isAdvice }: Finding): string {
  if (!ok) return 'FAILED';
  return isAdvice ? 'advice' : 'ok    ';
}

/** Runs all checks at once, without those whose own settings have problems. */
async function runAll(settings: Settings, files: SettingFiles, problems: readonly string[]): Promise<Finding[]> {
  const isSound = (names: RegExp): boolean => !problems.some((problem) => names.test(problem));
  // A private server is looked for, and fetched, by settings that may start.
  const hasRedis = isSound(OF_REDIS) && (redisAddressOf(settings) !== undefined || problems.length === 0);
  const redis = hasRedis ? await reachRedis(settings) : undefined;
  const stated = isSound(OF_MODEL) ? askWindow(settings) : Promise.resolve({ isKnown: false });
  const possible = CHECKS.filter(({ needs, needsRedis }) => (!needs || isSound(needs)) && (!needsRedis || hasRedis));
  try {
    const ground = { settings, files, redis: redis?.reached ?? { finding: failed('redis', 'not looked for') }, stated };
    return (await Promise.all(possible.map(({ run }) => run(ground)))).flat();
  } finally {
    await redis?.stop();
  }
}

/** Sends a span and a metric, each named as of this check, where a start would send any. */
async function checkTelemetry({ settings }: Ground): Promise<Finding[]> {
  const signals = signalsOf(settings, ownEnvironment());
  const addresses = [...new Set(Object.values(signals))];
  if (addresses.length === 0) return [];
  const { tryExport } = await import('../../shared/base/exporter.ts');
  const failures = await tryExport('spillway-check', signals, TELEMETRY_DEADLINE_MS);
  if (failures === '') return [fine('telemetry', `${addresses.join(', ')} took a span and a metric`)];
  return [failed('telemetry', `${failures}; check OTEL_EXPORTER_OTLP_ENDPOINT, its protocol and headers`)];
}

/** Says what goes through a proxy, and what does not although one is set. */
function checkProxy({ settings }: Ground): Finding[] {
  const env = ownEnvironment();
  const proxy = proxyOf(env);
  if (proxy === undefined) return [];
  const direct: string[] = [];
  if (Object.keys(signalsOf(settings, env)).length > 0) direct.push('telemetry');
  if (settings.BLOB_URL.kind === 's3') direct.push('the bucket');
  const words = `${proxyInWords(proxy)}; Redis and this machine are reached directly`;
  if (direct.length === 0) return [fine('proxy', words)];
  return [advised('proxy', `${words}, and so are ${direct.join(' and ')}, which use no proxy`)];
}

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAkQBADs=', 'base64');

/** A running gateway starts the decoder with the first file; what is missing for it is reported here. */
async function checkDecoder(): Promise<Finding[]> {
  const read = await fitPicture(PIXEL).catch((error: Error) => ({ ok: false, why: error.message }) as const);
  return read.ok ? [] : [failed('pictures', `${read.why}; install the optional packages too`)];
}

/**
 * Starts the tool servers, and says whether a first message fits beside what every request holds with their tools. An
 * omitted tool is not a failure: the gateway runs without it. A tool of CHATS_FILE that no server offers may be misspelt.
 */
async function checkTools(ground: Ground): Promise<Finding[]> {
  const { settings, files } = ground;
  const { servers, systemPrompt: system, chats } = files;
  if (servers.length === 0) return [await checkRoom(ground, { system, tools: [] })];
  const { startConfinedMcp } = await import('../features/mcp/toolbox.ts');
  const limits = { timeoutMs: TOOLS_DEADLINE_MS, startMs: TOOLS_DEADLINE_MS };
  const tools = await startConfinedMcp(settings, servers, limits, createLogger('silent'));
  try {
    const specs = tools.specs();
    const known = new Set([...OWN_TOOLS, ...specs.map(({ name }) => name)]);
    const unknown = [...chats].flatMap(([chat, { tools: named = [] }]) => {
      const missing = named.filter((name) => !known.has(name) && !name.endsWith('__*'));
      return missing.length === 0 ? [] : [advised(`tools of chat ${chat}`, `no server offers ${missing.join(', ')}`)];
    });
    return [...tools.state().map(serverFinding), ...unknown, await checkRoom(ground, { system, tools: specs })];
  } finally {
    await tools.stop();
  }
}

const SECRETS = '.env and its keys, the conversations in Redis and all files included';

function serverFinding({ server, problem, unconfined, tools, omitted }: McpServerState): Finding {
  const named = omitted.map(({ tool, why }) => `${JSON.stringify(tool)} (${why})`).join(', ');
  const all = `${counted(tools, 'tool')}${omitted.length === 0 ? '' : `; ${omitted.length} left out: ${named}`}`;
  const found = { part: `tools of ${server}`, ok: problem === undefined, detail: problem ?? all };
  if (unconfined === undefined) return found;
  const open = `; NOT sandboxed (${unconfined}): it can read what the gateway can, ${SECRETS}`;
  return { ...found, detail: `${found.detail}${open}`, isAdvice: true };
}
