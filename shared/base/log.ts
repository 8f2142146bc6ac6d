import pino, { type Logger } from 'pino';
import { redact } from './text.ts';

export type { Logger };

/** A JSON logger on standard error, with credentials removed from every string of a line. */
export function createLogger(level: string): Logger {
  const destination = pino.destination({ fd: 2, sync: true });
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    { write: (line: string) => destination.write(redact(line)) },
  );
}

/** An error as a log line may show it: name, message and place, without credentials or response bodies. */
export function describeError(error: unknown): { name: string; message: string; stack?: string } {
  if (!(error instanceof Error)) return { name: 'NonError', message: redact(String(error)).slice(0, 500) };
  return {
    name: error.name,
    message: redact(error.message).slice(0, 500),
    ...(error.stack && { stack: redact(error.stack).split('\n').slice(1, 8).join('\n') }),
  };
}
