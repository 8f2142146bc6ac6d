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
import { checkRedis, openRedis } from './check-redis.ts';
import { checkAlerts, checkBot, checkWatchers } from './check-telegram.ts';
import { type CheckContext, type Finding, failed, passed, withAdvice } from './finding.ts';
import type { Call } from './verb.ts';

/** Long enough for a tool server that `npx` must download first. */
const TOOLS_DEADLINE_MS = 30_000;
/** Longer than the ten seconds for which the SDK itself tries. */
const TELEMETRY_DEADLINE_MS = 12_000;
const WRONG_SETTINGS = 2;

/** One check. It runs only if the settings that it `needs` are valid and, with `needsRedis`, if Redis was looked for. */
interface Check {
  needs?: RegExp;
  needsRedis?: true;
  run: (context: CheckContext) => Finding[] | Promise<Finding[]>;
}

const REDIS_SETTINGS = /^(?:REDIS_|SHARDS|BLOB_URL)/;
const TELEGRAM_SETTINGS = /^TELEGRAM_(?:BOT_TOKEN|API_ROOT|ALERT_CHAT_ID|WEBHOOK_)/;
const MODEL_SETTINGS = /^(?:ANTHROPIC_\w+|MODEL|CONTEXT_WINDOW_TOKENS) /;

/** Checks of everything that a start and a first message need, in the order of the output. */
const CHECKS: readonly Check[] = [
  { needsRedis: true, run: checkRedis },
  { needsRedis: true, run: checkBlobs },
  { needs: TELEGRAM_SETTINGS, run: checkBot },
  { needs: TELEGRAM_SETTINGS, run: checkAlerts },
  { needs: MODEL_SETTINGS, run: checkModel },
  { needs: MODEL_SETTINGS, run: checkLives },
  { needs: MODEL_SETTINGS, run: checkTools },
  { run: checkDecoder },
  { needsRedis: true, needs: /^HTTP_/, run: checkPort },
  { run: checkMoney },
  { run: checkWatchers },
  { needs: /^OTEL_/, run: checkTelemetry },
  { run: checkProxy },
];

/** Checks the configuration and every connection. Returns 0 if all is well, 1 after a failed check, 2 for wrong settings. */
export async function check({ isJson, terminal }: Call): Promise<number> {
  const reading = terminal.readConfig('gateway');
  const files = await judgeSettingFiles(reading);
  const problems = [...(reading.ok ? [] : reading.problems), ...files.problems];
  const warnings = reading.ok ? reading.warnings : [];
  const settings = reading.ok ? reading.settings : reading.rest;
  const findings = settings === undefined ? [] : await runAll(settings, files, problems);
  const isWell = problems.length === 0 && findings.every(({ ok }) => ok);
  if (isJson) {
    const failures = problems.map((problem) => failed('settings', problem));
    const advice = warnings.map((warning) => withAdvice('settings', warning));
    terminal.line(JSON.stringify({ ok: isWell, parts: [...failures, ...advice, ...findings] }));
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

/** Runs all checks at once, except those that cannot run because of a problem with the settings. */
async function runAll(settings: Settings, files: SettingFiles, problems: readonly string[]): Promise<Finding[]> {
  const areValid = (names: RegExp): boolean => !problems.some((problem) => names.test(problem));
  // Without an address, `openRedis` looks for a private server or even downloads one. Do that only if all settings are valid.
  const hasRedis = areValid(REDIS_SETTINGS) && (redisAddressOf(settings) !== undefined || problems.length === 0);
  const connection = hasRedis ? await openRedis(settings) : undefined;
  const window = areValid(MODEL_SETTINGS) ? askWindow(settings) : Promise.resolve({ isKnown: false });
  const possible = CHECKS.filter(({ needs, needsRedis }) => (!needs || areValid(needs)) && (!needsRedis || hasRedis));
  try {
    const redis = connection?.redis ?? { finding: failed('redis', 'not looked for') };
    const context = { settings, files, redis, window };
    return (await Promise.all(possible.map(({ run }) => run(context)))).flat();
  } finally {
    await connection?.stop();
  }
}

/** Sends a span and a metric as the service `spillway-check`, if a start would send telemetry. */
async function checkTelemetry({ settings }: CheckContext): Promise<Finding[]> {
  const signals = signalsOf(settings, ownEnvironment());
  const addresses = [...new Set(Object.values(signals))];
  if (addresses.length === 0) return [];
  const { tryExport } = await import('../../shared/base/exporter.ts');
  const failures = await tryExport('spillway-check', signals, TELEMETRY_DEADLINE_MS);
  if (failures === '') return [passed('telemetry', `${addresses.join(', ')} took a span and a metric`)];
  return [failed('telemetry', `${failures}; check OTEL_EXPORTER_OTLP_ENDPOINT, its protocol and headers`)];
}

/** Reports which connections use the proxy, and which do not although a proxy is set. */
function checkProxy({ settings }: CheckContext): Finding[] {
  const env = ownEnvironment();
  const proxy = proxyOf(env);
  if (proxy === undefined) return [];
  const directParts: string[] = [];
  if (Object.keys(signalsOf(settings, env)).length > 0) directParts.push('telemetry');
  if (settings.BLOB_URL.kind === 's3') directParts.push('the bucket');
  const words = `${proxyInWords(proxy)}; Redis and this machine are reached directly`;
  if (directParts.length === 0) return [passed('proxy', words)];
  return [withAdvice('proxy', `${words}, and so are ${directParts.join(' and ')}, which use no proxy`)];
}

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAkQBADs=', 'base64');

/** Checks that the decoder of pictures can start. A running gateway starts the decoder only for the first file. */
async function checkDecoder(): Promise<Finding[]> {
  const result = await fitPicture(PIXEL).catch((error: Error) => ({ ok: false, why: error.message }) as const);
  return result.ok ? [] : [failed('pictures', `${result.why}; install the optional packages too`)];
}

/**
 * Starts the tool servers, and checks that the system prompt and the tools leave room for a first message. A tool that the
 * gateway omits is not a failure. Advises about a tool in CHATS_FILE that no server offers, since its name may be misspelt.
 */
async function checkTools(context: CheckContext): Promise<Finding[]> {
  const { settings, files } = context;
  const { servers, systemPrompt: system, chats } = files;
  if (servers.length === 0) return [await checkRoom(context, { system, tools: [] })];
  const { startConfinedMcp } = await import('../features/mcp/toolbox.ts');
  const limits = { timeoutMs: TOOLS_DEADLINE_MS, startMs: TOOLS_DEADLINE_MS };
  const tools = await startConfinedMcp(settings, servers, limits, createLogger('silent'));
  try {
    const specs = tools.specs();
    const knownTools = new Set([...OWN_TOOLS, ...specs.map(({ name }) => name)]);
    const unknown = [...chats].flatMap(([chat, { tools: chatTools = [] }]) => {
      const missing = chatTools.filter((name) => !knownTools.has(name) && !name.endsWith('__*'));
      return missing.length === 0
        ? []
        : [withAdvice(`tools of chat ${chat}`, `no server offers ${missing.join(', ')}`)];
    });
    return [...tools.state().map(serverFinding), ...unknown, await checkRoom(context, { system, tools: specs })];
  } finally {
    await tools.stop();
  }
}

const SECRETS = '.env and its keys, the conversations in Redis and all files included';

function serverFinding({ server, problem, whyUnconfined, tools, omitted }: McpServerState): Finding {
  const omittedNames = omitted.map(({ tool, why }) => `${JSON.stringify(tool)} (${why})`).join(', ');
  const all = `${counted(tools, 'tool')}${omitted.length === 0 ? '' : `; ${omitted.length} left out: ${omittedNames}`}`;
  const finding = { part: `tools of ${server}`, ok: problem === undefined, detail: problem ?? all };
  if (whyUnconfined === undefined) return finding;
  const risk = `; NOT sandboxed (${whyUnconfined}): it can read what the gateway can, ${SECRETS}`;
  return { ...finding, detail: `${finding.detail}${risk}`, isAdvice: true };
}
