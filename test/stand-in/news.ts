/**
 * Lets a test wait for what it wants to see, instead of sleeping for as long as that may take.
 *
 * Whoever changes a ledger tells; whoever waits looks again at each telling. A wait always ends: with what was
 * looked for, or with an error that says what was seen instead.
 */
export class News {
  readonly #watchers = new Set<(ended: boolean) => void>();

  /** Wakes every waiter. Call it after each change, never before. */
  tell(): void {
    for (const watcher of [...this.#watchers]) watcher(false);
  }

  /** Rejects every waiter: nothing will be told any more. */
  end(): void {
    for (const watcher of [...this.#watchers]) watcher(true);
  }

  /**
   * Resolves with the first thing that `look` finds, now or after a later telling.
   * Rejects after `timeoutMs`, or at the end, with `wanted` and with what `seen` reports at that moment.
   */
  until<Found>(look: () => Found | undefined, timeoutMs: number, wanted: string, seen: () => string): Promise<Found> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#watchers.delete(watcher);
        act();
      };
      const watcher = (ended: boolean): void => {
        try {
          const found = look();
          if (found !== undefined) settle(() => resolve(found));
          else if (ended) settle(() => reject(new Error(`Closed while waiting for ${wanted}. Seen: ${seen()}`)));
        } catch (error) {
          settle(() => reject(error));
        }
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`No ${wanted} within ${timeoutMs} ms. Seen: ${seen()}`))),
        timeoutMs,
      );
      this.#watchers.add(watcher);
      watcher(false);
    });
  }
}

/** A list as one line for an error message: the newest items, at most `itemsMax` of them. */
export function listed(items: readonly string[], itemsMax = 12): string {
  if (items.length === 0) return 'nothing';
  const left = items.length - itemsMax;
  const newest = items.slice(-itemsMax).join(' | ');
  return left > 0 ? `(${left} earlier) ${newest}` : newest;
}
