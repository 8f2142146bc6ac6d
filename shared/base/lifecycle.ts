/** Something that runs until it is stopped. Contract: `stop` may be called twice, and before the start was over. */
export interface Service {
  readonly name: string;
  stop(): Promise<void>;
}

/** Stops services in the reverse of their order, one after the other; a failing one does not keep the rest up. */
export async function stopAll(services: readonly Service[], onError: (name: string, error: unknown) => void) {
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      onError(service.name, error);
    }
  }
}

/** Waits, or returns early when `signal` is aborted. Never rejects. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = () => resolve();
  signal?.addEventListener('abort', wake, { once: true });
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener('abort', wake);
}
