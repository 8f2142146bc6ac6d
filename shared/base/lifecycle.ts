import type { Logger } from './log.ts';

/** Something that runs until it is stopped. Contract: `stop` may be called twice, and before the start has finished. */
export interface Service {
  readonly name: string;
  stop(): Promise<void>;
}

/** Stops services in reverse order, one after the other; one that fails is logged and does not keep the others running. */
export async function stopAll(services: readonly Service[], log: Logger): Promise<void> {
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      log.error({ err: error, service: service.name }, 'a service did not stop well');
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

/**
 * What the work resolves or rejects with; `undefined` once `maxMs` have passed or `signal` is aborted, if that is earlier.
 * The work itself goes on, and its error is then nobody's.
 */
export async function within<T>(work: Promise<T>, maxMs: number, signal?: AbortSignal): Promise<T | undefined> {
  const waited = new AbortController();
  const signals = signal === undefined ? [waited.signal] : [waited.signal, signal];
  const late = pause(maxMs, AbortSignal.any(signals)).then(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    waited.abort();
  }
}
