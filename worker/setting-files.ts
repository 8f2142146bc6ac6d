import { readFile } from 'node:fs/promises';
import { type Config, type ConfigReading, processEnvironment } from '../shared/base/config.ts';
import { HEADER_NOTE } from './ask/header.ts';
import { roomProblem } from './fixed-room.ts';
import { loadPrices } from './model/price-file.ts';
import type { Prices } from './model/prices.ts';
import { type McpServer, readMcpConfig } from './tools/mcp/config.ts';

/** The settings that name a file. */
export type NamedFiles = Partial<
  Pick<Config, 'SYSTEM_PROMPT_FILE' | 'COMPACTION_PRESERVE_FILE' | 'MODEL_PRICES_FILE' | 'MCP_CONFIG'>
>;

/** The contents of the files, as far as they can be read, and every problem with them. */
export interface SettingFiles {
  systemPrompt: string;
  /** Things a summary must keep besides the usual, in the operator's own words; may be empty. */
  preserve: string;
  /** The operator's own prices. */
  prices: Prices;
  servers: readonly McpServer[];
  problems: readonly string[];
}

const SYSTEM_PROMPT =
  "You are a helpful assistant in a Telegram chat. Answer in the user's language, briefly and to the point. Markdown is shown as formatted text: use it where it helps, tables and code blocks included.";

/** Reads all files that settings name. Never rejects: a typo in each of them is one list of problems. */
export async function readSettingFiles(named: NamedFiles): Promise<SettingFiles> {
  const problems: string[] = [];
  const orNote = async <T>(reading: Promise<T>, instead: T): Promise<T> =>
    reading.catch((error: Error) => {
      problems.push(error.message);
      return instead;
    });
  const [prompt, preserve, prices, servers] = await Promise.all([
    orNote(readText('SYSTEM_PROMPT_FILE', named.SYSTEM_PROMPT_FILE), undefined),
    orNote(readText('COMPACTION_PRESERVE_FILE', named.COMPACTION_PRESERVE_FILE), undefined),
    orNote(loadPrices(named.MODEL_PRICES_FILE), new Map()),
    orNote(readServers(named.MCP_CONFIG), []),
  ]);
  const systemPrompt = `${prompt ?? SYSTEM_PROMPT}\n\n${HEADER_NOTE}`;
  return { systemPrompt, preserve: preserve ?? '', prices, servers, problems };
}

/**
 * Reads the files, and says what a start would be refused for besides what is wrong with single settings: files, and a
 * budget that not even the system prompt fits into. Where the settings are wrong, the files are those that the environment
 * names. Never rejects.
 */
export async function judgeSettingFiles(reading: ConfigReading): Promise<SettingFiles> {
  const files = await readSettingFiles(reading.ok ? reading.config : processEnvironment());
  const room = reading.ok ? roomProblem(reading.config, { system: files.systemPrompt, tools: [] }) : undefined;
  return room === undefined ? files : { ...files, problems: [...files.problems, room] };
}

/** The problems alone. Never rejects. */
export async function settingProblems(reading: ConfigReading): Promise<readonly string[]> {
  return (await judgeSettingFiles(reading)).problems;
}

/** The servers of MCP_CONFIG. Rejects with every problem in that file at once. */
async function readServers(file: string | undefined): Promise<readonly McpServer[]> {
  const reading = readMcpConfig((await readText('MCP_CONFIG', file)) ?? '{"mcpServers":{}}');
  if (!reading.ok) throw new Error(`MCP_CONFIG is malformed:\n${reading.problems.join('\n')}`);
  return reading.servers;
}

/** The text of a file that a setting names. Rejects when it is empty or cannot be read. */
async function readText(setting: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined || file.trim() === '') return undefined;
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (text === '') throw new Error(`${setting} names a file that is empty or cannot be read.`);
  return text;
}
