import { readFile } from 'node:fs/promises';
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

/** The settings that name a file. */
type NamedFiles = Partial<
  Pick<Settings, 'SYSTEM_PROMPT_FILE' | 'COMPACTION_PRESERVE_FILE' | 'MODEL_PRICES_FILE' | 'MCP_CONFIG' | 'CHATS_FILE'>
>;

/** The contents of the files, as far as they can be read, and every problem with them. */
export interface SettingFiles {
  systemPrompt: string;
  /** Things a summary must keep besides the usual, in the operator's own words; may be empty. */
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
 * Reads all files that settings name; `models` are those that chats may have, where they are known. Never rejects: a typo in
 * each of them is one list of problems.
 */
export async function readSettingFiles(named: NamedFiles, models?: readonly string[]): Promise<SettingFiles> {
  const problems: string[] = [];
  const orNote = async <T>(reading: Promise<T>, instead: T): Promise<T> =>
    reading.catch((error: Error) => {
      problems.push(error.message);
      return instead;
    });
  const [prompt, preserve, prices, mcp] = await Promise.all([
    orNote(readText('SYSTEM_PROMPT_FILE', named.SYSTEM_PROMPT_FILE), undefined),
    orNote(readText('COMPACTION_PRESERVE_FILE', named.COMPACTION_PRESERVE_FILE), undefined),
    orNote(loadPrices(named.MODEL_PRICES_FILE), new Map()),
    orNote(readServers(named.MCP_CONFIG), undefined),
  ]);
  const known = { models, servers: mcp?.names };
  const chats = await orNote(loadChatTable(named.CHATS_FILE, known), new Map());
  const systemPrompt = promptOf(prompt ?? SYSTEM_PROMPT);
  return { systemPrompt, preserve: preserve ?? '', prices, servers: mcp?.servers ?? [], chats, problems };
}

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

/** The models in use whose price is not known; 0 is a price. Pure. */
export function unpricedModels(settings: Settings, prices: Prices): string[] {
  const { TRANSCRIPTION_MODEL: ear } = settings;
  return [
    ...[...modelsInUse(settings).keys()].filter((model) => costOf(model, NO_TOKENS, prices) === undefined),
    ...(ear !== undefined && costOfMinute(ear, prices) === undefined ? [ear] : []),
  ];
}

/** Why a model without a price is refused: no limit in money bounds it. `undefined` where all have one, or none is set. Pure. */
export function priceProblem(settings: Settings, { prices, chats }: Pick<SettingFiles, 'prices' | 'chats'>) {
  const isGuest = mayHaveGuests(settings);
  const limits = [{}, ...chats.values()].flatMap((chat) => limitsOf(settings, chat, { isGuest }));
  const unpriced = unpricedModels(settings, prices);
  const named = [...new Set(limits.filter(({ unit }) => unit === 'usd').map(({ setting }) => setting))];
  if (settings.PRICE_UNKNOWN === 'allow' || unpriced.length === 0 || named.length === 0) return undefined;
  return `No price is known of ${unpriced.join(', ')}, so ${named.join(', ')} would not bound what they cost: name their prices in MODEL_PRICES_FILE, or set PRICE_UNKNOWN=allow.`;
}

function mayHaveGuests({ TELEGRAM_ALLOWED_IDS: ids, TELEGRAM_GUESTS: guests }: Settings): boolean {
  return ids === 'everyone' || [...ids].some((id) => id < 0) || guests.size > 0;
}

/**
 * Reads the files, and says what a start would be refused for besides what is wrong with single settings: files, and a
 * budget that not even the system prompt fits into. Where the settings are wrong, the files are those that the environment
 * names. Never rejects.
 */
export async function judgeSettingFiles(reading: SettingsReading): Promise<SettingFiles> {
  if (!reading.ok) return readSettingFiles(ownEnvironment());
  const { settings } = reading;
  const files = await readSettingFiles(settings, settings.MODELS);
  const room = roomProblem(settings, { system: files.systemPrompt, tools: [] });
  const ofChats = [...files.chats].flatMap(([chat, { systemPrompt: system }]) => {
    const problem = system === undefined ? undefined : roomProblem(settings, { system, tools: [] });
    return problem === undefined ? [] : [`CHATS_FILE, chat ${chat}: ${problem}`];
  });
  const price = priceProblem(settings, files);
  const further = [...(room === undefined ? ofChats : [room]), ...(price === undefined ? [] : [price])];
  return { ...files, problems: [...files.problems, ...further] };
}

/** The problems alone. Never rejects. */
export async function settingProblems(reading: SettingsReading): Promise<readonly string[]> {
  return (await judgeSettingFiles(reading)).problems;
}

/** The servers of MCP_CONFIG. Rejects with every problem in that file at once. */
async function readServers(file: string | undefined): Promise<Extract<McpConfigReading, { ok: true }>> {
  const reading = readMcpConfig((await readText('MCP_CONFIG', file)) ?? '{"mcpServers":{}}');
  if (!reading.ok) throw new Error(`MCP_CONFIG is malformed:\n${reading.problems.join('\n')}`);
  return reading;
}

/** The text of a file that a setting names. Rejects when it is empty or cannot be read. */
async function readText(setting: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined || file.trim() === '') return undefined;
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (text === '') throw new Error(`${setting} names a file that is empty or cannot be read.`);
  return text;
}

/** The parts of every request besides the tools that the gateway has itself. */
export interface Fixed {
  system: string;
  /** The tools of MCP servers, as far as they are known. */
  tools: readonly ToolSpec[];
}

/** The tokens of our own tools, by our estimate; a test holds it to them. */
export const OWN_TOOLS_TOKENS = 1_300;
/** A short message with its header, and a few more after it. */
const FIRST_MESSAGES_TOKENS = 1_000;

/** The size of the parts of every request, in tokens of the model, by our estimate. Pure. */
export function fixedTokens(settings: Settings, { system, tools }: Fixed): number {
  const estimated = estimateFixed({ system, tools, serverTools: serverTools(settings) });
  return Math.ceil((estimated + OWN_TOOLS_TOKENS) * tokenizerFactor(settings.MODEL));
}

/**
 * Why what every request holds leaves no room for a first message, in a sentence; `undefined` when it leaves some. The
 * window is the one that is known of the model, else the setting. Pure.
 */
export function roomProblem(settings: Settings, fixed: Fixed, windowTokens?: number): string | undefined {
  const { CONTEXT_BUDGET_TOKENS: budget, CONTEXT_WINDOW_TOKENS: stated, MAX_OUTPUT_TOKENS: output } = settings;
  const window = stated ?? windowTokens ?? Number.POSITIVE_INFINITY;
  const taken = fixedTokens(settings, fixed);
  const needed = taken + FIRST_MESSAGES_TOKENS;
  if (usableTokens(Math.min(window, budget), output) >= needed) return undefined;
  const limit =
    window < budget ? `The window of ${settings.MODEL} is ${window} tokens` : `CONTEXT_BUDGET_TOKENS is ${budget}`;
  const remedy = window < budget ? 'choose a model with a larger one' : `set it to at least ${2 * needed}`;
  return `${limit}, but the system prompt and the tools take about ${taken} of them, and half is kept for answers: no message would fit. Shorten the system prompt or the tools of MCP_CONFIG, or ${remedy}.`;
}
