import { setTimeout as pause } from 'node:timers/promises';
import type { Ground } from './ground.ts';

/** A part that somebody else wrote. */
export type Part = 'LiteLLM' | 'MCP servers';

/** One thing that must be so with the real parts. */
export interface Check {
  name: string;
  needs: readonly Part[];
  /** Resolves with what was seen, in one line; rejects when something is otherwise. */
  run(ground: Ground): Promise<string>;
}

/** What a check came to. */
export interface Checked {
  name: string;
  needs: readonly Part[];
  verdict: 'ok' | 'DIFFERS' | 'not run';
  seen: string;
}

const CHECK_MS = 120_000;
const SEEN_CHARS = 600;

/** Runs one check, bounded in time. Never rejects. */
export async function runCheck({ name, needs, run }: Check, ground: Ground): Promise<Checked> {
  const missing = needs.filter((part) => (part === 'LiteLLM' ? ground.proxy : ground.mcp) === undefined);
  if (missing.length > 0)
    return { name, needs, verdict: 'not run', seen: `${missing.join(' and ')} could not be brought` };
  ground.play();
  const done = new AbortController();
  const late = pause(CHECK_MS, undefined, { signal: done.signal }).then(() => {
    throw new Error(`not done after ${CHECK_MS / 1_000} seconds`);
  });
  late.catch(() => {});
  try {
    return { name, needs, verdict: 'ok', seen: clean(await Promise.race([run(ground), late])) };
  } catch (error) {
    return { name, needs, verdict: 'DIFFERS', seen: clean(error instanceof Error ? error.message : String(error)) };
  } finally {
    done.abort();
  }
}

/** In one line, and without a path of this machine. */
function clean(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<![\w.:/])\/[\w.-]+\/[^\s'",;)]*/g, '…')
    .slice(0, SEEN_CHARS);
}
