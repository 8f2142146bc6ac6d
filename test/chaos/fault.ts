/**
 * What a fault may be blamed for. `send`: a send whose result nobody knows, so a text may be shown twice. `overlap`: a
 * lock that runs out while its holder cannot notice, so a second process may ask the model meanwhile.
 */
export type Excuse = 'send' | 'overlap';

/** A fault that was done, and when. */
export interface FaultWindow {
  name: string;
  fromMs: number;
  toMs: number;
  excuses: readonly Excuse[];
}

/** The faults of a run, in the order in which they began. */
export interface FaultLog {
  readonly windows: readonly FaultWindow[];
  /** Does a fault: it lasts until `act` resolves. */
  during<T>(name: string, excuses: readonly Excuse[], act: () => Promise<T> | T): Promise<T>;
  /** When the last fault ended; 0 when there was none. */
  lastEndMs(): number;
}

/** A log without faults. */
export function createFaultLog(): FaultLog {
  const windows: FaultWindow[] = [];
  return {
    windows,
    async during(name, excuses, act) {
      const window: FaultWindow = { name, excuses, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      windows.push(window);
      try {
        return await act();
      } finally {
        window.toMs = Date.now();
      }
    },
    lastEndMs: () => Math.max(0, ...windows.map(({ toMs }) => toMs)),
  };
}
