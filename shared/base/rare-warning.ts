import type { Logger } from './log.ts';

const EVERY_MS = 60_000;

/**
 * Logs what anybody on the network can cause, who must not be able to fill the log: the first at once, and the others
 * once a minute, with their number and what the last one was. The log of a process that ends lacks at most its last
 * minute.
 */
export function rareWarning(log: Pick<Logger, 'warn'>, message: string): (details?: object) => void {
  let count = 0;
  let last: object = {};
  let timer: NodeJS.Timeout | undefined;
  const write = (): void => {
    timer = undefined;
    if (count === 0) return;
    log.warn({ ...last, count }, message);
    count = 0;
    timer = setTimeout(write, EVERY_MS).unref();
  };
  return (details = {}) => {
    count += 1;
    last = details;
    if (timer === undefined) write();
  };
}
