import { readNamedFile } from '../shared/base/env-file.ts';
import { ownEnvironment, type Settings, type SettingsReading } from '../shared/base/settings.ts';
import type { ChatTable } from '../shared/state/chat/chat-settings.ts';
import { limitsOf } from '../shared/state/spending/limit.ts';
import { loadChatTable, promptOf } from './chat-table.ts';
import { type McpConfigReading, type McpServer, readMcpConfig } from './features/mcp/config.ts';
import { modelsInUse, tokenizerFactor } from './model/catalog.ts';
import { estimateFixed, usableTokens } from './model/count.ts';
import { costOf, costOfMinute, loadPrices, type Prices } from './model/prices.ts';
import { serverTools } from './tools/server-tools.ts';
import type { ToolSpec } from './tools/toolbox.ts';

type NamedFiles = Partial<
  Pick<Settings, 'SYSTEM_PROMPT_FILE' | 'COMPACTION_PRESERVE_FILE' | 'MODEL_PRICES_FILE' | 'MCP_CONFIG' | 'CHATS_FILE'>
>;

/** The contents of the files that settings name, with defaults for absent and bad files, and the problems of all files. */
export interface SettingFiles {
  systemPrompt: string;
  /** Things that a summary must keep in addition to the usual ones, in the operator's own words; may be empty. */
  preserve: string;
  /** The operator's own prices. */
  prices: Prices;
  servers: readonly McpServer[];
  chats: ChatTable;
  problems: readonly string[];
}

const SYSTEM_PROMPT =
  "You are a helpful assistant in a Telegram chat. Answer in the user's language, briefly and to the point. Markdown is shown as formatted text: use it where it helps, tables and code blocks included.";

/**
 * Reads all files that settings name. `models` are the models that chats may choose, if known. Never rejects; returns the
 * problems of all files at once.
 */
export async function readSettingFiles(settings: NamedFiles, models?: readonly string[]): Promise<SettingFiles> {
  const problems: string[] = [];
  const collectProblem = async <T>(reading: Promise<T>, instead: T): Promise<T> =>
    reading.catch((error: Error) => {
      problems.push(error.message);
      return instead;
    });
  const [prompt, preserve, prices, mcp] = await Promise.all([
    collectProblem(readNamedFile('SYSTEM_PROMPT_FILE', settings.SYSTEM_PROMPT_FILE), undefined),
    collectProblem(readNamedFile('COMPACTION_PRESERVE_FILE', settings.COMPACTION_PRESERVE_FILE), undefined),
    collectProblem(loadPrices(settings.MODEL_PRICES_FILE), new Map()),
    collectProblem(readServers(settings.MCP_CONFIG), undefined),
  ]);
  const names = { models, servers: mcp?.names };
  const chats = await collectProblem(loadChatTable(settings.CHATS_FILE, names), new Map());
  const systemPrompt = promptOf(prompt ?? SYSTEM_PROMPT);
  return { systemPrompt, preserve: preserve ?? '', prices, servers: mcp?.servers ?? [], chats, problems };
}

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

/** The models in use without a known price. A price of 0 counts as known. Pure. */
export function unpricedModels(settings: Settings, prices: Prices): string[] {
  const { TRANSCRIPTION_MODEL: transcriber } = settings;
  return [
    ...[...modelsInUse(settings).keys()].filter((model) => costOf(model, NO_TOKENS, prices) === undefined),
    ...(transcriber !== undefined && costOfMinute(transcriber, prices) === undefined ? [transcriber] : []),
  ];
}

/** The problem, if any, that limits in dollars cannot bound the cost of a model, because its price is unknown. Pure. */
export function priceProblem(settings: Settings, { prices, chats }: Pick<SettingFiles, 'prices' | 'chats'>) {
  const isGuest = mayHaveGuests(settings);
  const limits = [{}, ...chats.values()].flatMap((chat) => limitsOf(settings, chat, { isGuest }));
  const models = unpricedModels(settings, prices);
  const dollarLimits = [...new Set(limits.filter(({ unit }) => unit === 'usd').map(({ setting }) => setting))];
  if (settings.PRICE_UNKNOWN === 'allow' || models.length === 0 || dollarLimits.length === 0) return undefined;
  return `No price is known of ${models.join(', ')}, so ${dollarLimits.join(', ')} would not bound what they cost: name their prices in MODEL_PRICES_FILE, or set PRICE_UNKNOWN=allow.`;
}

function mayHaveGuests({ TELEGRAM_ALLOWED_IDS: ids, TELEGRAM_GUESTS: guests }: Settings): boolean {
  return ids === 'everyone' || [...ids].some((id) => id < 0) || guests.size > 0;
}

/**
 * Reads the files, and finds the problems with them that would prevent a start: unusable files, a missing price, and a system
 * prompt that leaves no room for messages. If the settings are wrong, only reads the files that the environment names. Never
 * rejects.
 */
export async function judgeSettingFiles(reading: SettingsReading): Promise<SettingFiles> {
  if (!reading.ok) return readSettingFiles(ownEnvironment());
  const { settings } = reading;
  const files = await readSettingFiles(settings, settings.MODELS);
  const room = roomProblem(settings, { system: files.systemPrompt, tools: [] });
  const chatProblems = [...files.chats].flatMap(([chat, { systemPrompt: system }]) => {
    const problem = system === undefined ? undefined : roomProblem(settings, { system, tools: [] });
    return problem === undefined ? [] : [`CHATS_FILE, chat ${chat}: ${problem}`];
  });
  const price = priceProblem(settings, files);
  const further = [...(room === undefined ? chatProblems : [room]), ...(price === undefined ? [] : [price])];
  return { ...files, problems: [...files.problems, ...further] };
}

/** The problems that `judgeSettingFiles` finds. Never rejects. */
export async function settingProblems(reading: SettingsReading): Promise<readonly string[]> {
  return (await judgeSettingFiles(reading)).problems;
}

/** The servers of MCP_CONFIG. Rejects with every problem in that file at once. */
async function readServers(file: string | undefined): Promise<Extract<McpConfigReading, { ok: true }>> {
  const reading = readMcpConfig((await readNamedFile('MCP_CONFIG', file)) ?? '{"mcpServers":{}}');
  if (!reading.ok) throw new Error(`MCP_CONFIG is malformed:\n${reading.problems.join('\n')}`);
  return reading;
}

/** The parts of every request, without the gateway's own tools. */
export interface Fixed {
  system: string;
  /** The tools of MCP servers, as far as they are known. */
  tools: readonly ToolSpec[];
}

/** An estimate of the tokens of the gateway's own tools. A test compares it with the real tools. */
export const OWN_TOOLS_TOKENS = 1_300;
/** Room for a short message with its header, and for a few more messages. */
const FIRST_MESSAGES_TOKENS = 1_000;

/** Estimates the size of the parts of every request, the gateway's own tools included, in tokens of the model. Pure. */
export function fixedTokens(settings: Settings, { system, tools }: Fixed): number {
  const tokens = estimateFixed({ system, tools, serverTools: serverTools(settings) });
  return Math.ceil((tokens + OWN_TOOLS_TOKENS) * tokenizerFactor(settings.MODEL));
}

/**
 * The problem, in a sentence, if the parts of every request leave no room for a first message; undefined if there is room.
 * `windowTokens` is the window that the model states; CONTEXT_WINDOW_TOKENS takes precedence. Pure.
 */
export function roomProblem(settings: Settings, fixed: Fixed, windowTokens?: number): string | undefined {
  const { CONTEXT_BUDGET_TOKENS: budget, CONTEXT_WINDOW_TOKENS: stated, MAX_OUTPUT_TOKENS: output } = settings;
  const window = stated ?? windowTokens ?? Number.POSITIVE_INFINITY;
  const usedTokens = fixedTokens(settings, fixed);
  const needed = usedTokens + FIRST_MESSAGES_TOKENS;
  if (usableTokens(Math.min(window, budget), output) >= needed) return undefined;
  const limit =
    window < budget ? `The window of ${settings.MODEL} is ${window} tokens` : `CONTEXT_BUDGET_TOKENS is ${budget}`;
  const remedy = window < budget ? 'choose a model with a larger one' : `set it to at least ${2 * needed}`;
  return `${limit}, but the system prompt and the tools take about ${usedTokens} of them, and half is kept for answers: no message would fit. Shorten the system prompt or the tools of MCP_CONFIG, or ${remedy}.`;
}
