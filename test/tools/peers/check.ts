import { setTimeout as pause } from 'node:timers/promises';
import { type Checked, checked, notRun } from '../verify/check.ts';
import type { Ground } from './ground.ts';

/** A part that somebody else wrote. */
export type Part = 'LiteLLM' | 'MCP servers';

/** One thing that must be so with the real parts. */
export interface Check {
  name: string;
  /** Resolves with what was seen, in one line; rejects when something is otherwise. */
  run(ground: Ground): Promise<string>;
}

/** A check with the part that it needs. */
export interface PlannedCheck extends Check {
  needs: Part;
}

/** Checks that need a part. */
export const needing = (needs: Part, checks: readonly Check[]): PlannedCheck[] =>
  checks.map((check) => ({ ...check, needs }));

const CHECK_MS = 120_000;

/** Runs one check, bounded in time. Never rejects. */
export async function runCheck({ name, needs, run }: PlannedCheck, ground: Ground): Promise<Checked> {
  const part = needs === 'LiteLLM' ? ground.proxy : ground.mcp;
  if (part === undefined) return notRun(name, `${needs} could not be brought`);
  ground.play();
  const done = new AbortController();
  const late = pause(CHECK_MS, undefined, { signal: done.signal }).then(() => {
    throw new Error(`not done after ${CHECK_MS / 1_000} seconds`);
  });
  late.catch(() => {});
  const result = await checked(name, () => Promise.race([run(ground), late]));
  done.abort();
  return result;
}
