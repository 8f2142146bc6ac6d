/** How long a gateway is deaf: how long it takes after a fault until it does again what it is there for. */
import { setTimeout as pause } from 'node:timers/promises';

/** Something that had to come back in time. */
export interface Wait {
  what: string;
  maxMs: number;
  /** Absent when it did not come as long as anybody waited. */
  tookMs?: number;
}

const LOOK_MS = 10;
/** So many times as long is waited, to tell what is late from what never comes. */
const PATIENCE = 2;

/** Waits until something is there again, and notes how long that took from `sinceMs` on. Never rejects. */
export async function awaitAgain(
  { waits }: { waits: Wait[] },
  { what, maxMs, sinceMs = Date.now() }: { what: string; maxMs: number; sinceMs?: number },
  look: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadlineMs = sinceMs + PATIENCE * maxMs;
  while (Date.now() < deadlineMs) {
    if (await look()) {
      waits.push({ what, maxMs, tookMs: Date.now() - sinceMs });
      return;
    }
    await pause(LOOK_MS);
  }
  waits.push({ what, maxMs });
}

/** What came too late, or never. */
export function lateIn(waits: readonly Wait[]): string[] {
  return waits
    .filter(({ tookMs, maxMs }) => tookMs === undefined || tookMs > maxMs)
    .map(({ what, tookMs, maxMs }) => {
      const when = tookMs === undefined ? `did not come in ${PATIENCE * maxMs} ms` : `came after ${tookMs} ms`;
      return `${what} ${when}, more than ${maxMs}`;
    });
}
