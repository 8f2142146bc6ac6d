import { readFile } from 'node:fs/promises';
import type { Root } from '../shared/root.ts';
import { createClaude } from './model/claude.ts';
import { startWorker, type WorkerParts } from './worker.ts';

/** Longest silence of the model's stream, the wait for its beginning included. */
const MODEL_IDLE_MS = 90_000;

const SYSTEM_PROMPT =
  "You are a helpful assistant in a Telegram chat. Answer in the user's language, briefly and to the point. Write plain text: Telegram shows Markdown marks as they are.";

/** Builds the worker's adapters from the config and starts it. Rejects when the system prompt's file cannot be read. */
export async function setUpWorker(root: Root, limits?: WorkerParts['limits']) {
  const { config } = root;
  const model = createClaude({
    apiKey: config.ANTHROPIC_API_KEY,
    baseURL: config.ANTHROPIC_BASE_URL,
    windowTokens: config.CONTEXT_WINDOW_TOKENS,
    idleMs: MODEL_IDLE_MS,
  });
  const systemPrompt = await readSystemPrompt(config.SYSTEM_PROMPT_FILE);
  return startWorker({ ...root, model, systemPrompt, ...(limits && { limits }) });
}

async function readSystemPrompt(file: string | undefined): Promise<string> {
  if (file === undefined) return SYSTEM_PROMPT;
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (text === '') throw new Error('SYSTEM_PROMPT_FILE names a file that is empty or cannot be read.');
  return text;
}
