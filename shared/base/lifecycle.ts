import type { Logger } from './log.ts';

/** A component that runs until `stop`. Contract: `stop` may be called twice, and before the component has fully started. */
export interface Service {
  readonly name: string;
  stop(): Promise<void>;
}

/** Stops services one by one, the last one first. Logs a service that fails to stop, and stops the others all the same. */
export async function stopAll(services: readonly Service[], log: Logger): Promise<void> {
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      log.error({ err: error, service: service.name }, 'a service did not stop well');
    }
  }
}

/** Waits for `ms`, or until `signal` aborts. Never rejects. */
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
 * Waits for `work` and returns its value. If `maxMs` pass or `signal` aborts first, returns `undefined`; the work then goes on,
 * and its later errors are ignored. Rejects if the work fails before that.
 */
export async function within<T>(work: Promise<T>, maxMs: number, signal?: AbortSignal): Promise<T | undefined> {
  const ended = new AbortController();
  const signals = signal === undefined ? [ended.signal] : [ended.signal, signal];
  const late = pause(maxMs, AbortSignal.any(signals)).then(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    ended.abort();
  }
}
