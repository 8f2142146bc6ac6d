/** One thing that must be so, and what was seen. */
export interface Checked {
  name: string;
  verdict: 'ok' | 'DIFFERS' | 'not run';
  seen: string;
}

/** Runs one check. `run` resolves with what was seen, or rejects with what is otherwise. Never rejects. */
export async function checked(name: string, run: () => Promise<string> | string): Promise<Checked> {
  try {
    return { name, verdict: 'ok', seen: oneLine(await run()) };
  } catch (error) {
    return { name, verdict: 'DIFFERS', seen: oneLine(error instanceof Error ? error.message : String(error)) };
  }
}

/** One that could not be run, and why. */
export function notRun(name: string, why: string): Checked {
  return { name, verdict: 'not run', seen: why };
}

const SEEN_CHARS = 600;

/** In one line, and without a path or a port of this machine. Pure. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<![\w.:/])\/[\w.-]+\/[^\s'",;)]*/g, '…')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1')
    .trim()
    .slice(0, SEEN_CHARS);
}
