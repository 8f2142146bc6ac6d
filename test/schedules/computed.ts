let next: Promise<void> | undefined;

/**
 * Resolves when all that can be computed just now is computed: every promise that is settled has been looked at. One wait
 * serves all schedules.
 */
export function computed(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = undefined;
      resolve();
    });
  });
  return next;
}
