import { setTimeout as pause } from 'node:timers/promises';
import { checked, notRun, type Checked as Seen } from '../verify/check.ts';
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
export interface Checked extends Seen {
  needs: readonly Part[];
}

const CHECK_MS = 120_000;

/** Runs one check, bounded in time. Never rejects. */
export async function runCheck({ name, needs, run }: Check, ground: Ground): Promise<Checked> {
  const missing = needs.filter((part) => (part === 'LiteLLM' ? ground.proxy : ground.mcp) === undefined);
  if (missing.length > 0) return { needs, ...notRun(name, `${missing.join(' and ')} could not be brought`) };
  ground.play();
  const done = new AbortController();
  const late = pause(CHECK_MS, undefined, { signal: done.signal }).then(() => {
    throw new Error(`not done after ${CHECK_MS / 1_000} seconds`);
  });
  late.catch(() => {});
  const result = await checked(name, () => Promise.race([run(ground), late]));
  done.abort();
  return { needs, ...result };
}
