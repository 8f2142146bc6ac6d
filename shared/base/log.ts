import pino, { type Logger } from 'pino';
import { fieldsNow } from './log-context.ts';
import { redact } from './text.ts';

export type { Logger };

/**
 * A JSON logger on standard error, with credentials removed from every string of a line. Each line of a turn names its
 * trace, chat and entry. An error is described under whatever name it is logged: its own fields may hold a message's text,
 * as the arguments of a Redis command do.
 */
export function createLogger(
  level: string,
  destination: { write(line: string): unknown } = pino.destination({ fd: 2, sync: true }),
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin: fieldsNow,
      formatters: { log: withoutBareErrors },
    },
    { write: (line: string) => destination.write(redact(line)) },
  );
}

function withoutBareErrors(fields: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(fields);
  if (!entries.some(([name, value]) => name === 'err' || value instanceof Error)) return fields;
  const described = (name: string, value: unknown) => name === 'err' || value instanceof Error;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, described(name, value) ? describeError(value) : value]),
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
