import { commit } from '../lane/events.ts';
import type { Overflow, RecoverPorts, Recovery, RecoveryTime } from './effects.ts';

/** The API names one tool at a time; more bad ones than that are a broken server. */
const TOOLS_MAX = 20;

/**
 * Removes the tools that the API refuses by name, and retries the message. A request's error is not trusted alone: it
 * may quote what a user wrote, and a removed tool is removed for every chat. So the fixed parts are checked until they
 * are taken. Returns nothing when no tool is to blame. Contract: as `recover`.
 */
export async function leaveOutTools(
  ports: RecoverPorts,
  overflow: Overflow,
  named: string,
  { signal }: RecoveryTime,
): Promise<Recovery | undefined> {
  const { attempt, failure, askedOutputTokens } = overflow;
  const out: string[] = [];
  while (out.length < TOOLS_MAX) {
    const verdict = await ports.endpoint.takesFixedParts(failure, askedOutputTokens, signal);
    const tool = verdict.kind === 'refused' ? verdict.failure.tool : undefined;
    if (tool === undefined || !ports.tools.exclude(tool, failure.reason)) break;
    out.push(tool);
  }
  if (out.length === 0 && !ports.tools.excluded().some(({ tool }) => tool === named)) return undefined;
  // Not a recovery of the message itself, so it is not counted; a request without these tools is a different one.
  await commit(ports.instruments, attempt, {
    step: `without ${[named, ...out].join(' ')}`,
    changes: [attempt.turn.renewAttempts()],
    events: out.map((tool) => ({ event: 'tool.excluded', tool })),
  });
  return { kind: 'again' };
}
