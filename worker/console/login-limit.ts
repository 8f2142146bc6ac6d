/** Counts wrong tokens, by the address that they come from. */
export interface LoginLimit {
  /** How many seconds an address must wait; 0 when it may try. */
  waitSeconds(address: string, nowMs: number): number;
  /** Notes a wrong token. */
  note(address: string, nowMs: number): void;
}

export const WRONG_MAX = 5;
export const WINDOW_MS = 60_000;
/** Whoever has more addresses than this guesses no better: the token is long. */
const ADDRESSES_MAX = 1_000;

/** A limit of five wrong tokens a minute from one address, in this process. What it remembers is bounded. */
export function createLoginLimit(): LoginLimit {
  const wrong = new Map<string, { sinceMs: number; count: number }>();
  const current = (address: string, nowMs: number) => {
    const found = wrong.get(address);
    return found && nowMs - found.sinceMs < WINDOW_MS ? found : undefined;
  };
  return {
    waitSeconds(address, nowMs) {
      const found = current(address, nowMs);
      return !found || found.count < WRONG_MAX ? 0 : Math.ceil((found.sinceMs + WINDOW_MS - nowMs) / 1000);
    },
    note(address, nowMs) {
      const { sinceMs, count } = current(address, nowMs) ?? { sinceMs: nowMs, count: 0 };
      wrong.delete(address);
      wrong.set(address, { sinceMs, count: count + 1 });
      const [oldest] = wrong.keys();
      if (wrong.size > ADDRESSES_MAX && oldest !== undefined) wrong.delete(oldest);
    },
  };
}
