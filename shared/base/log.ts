import { context, createContextKey, trace } from '@opentelemetry/api';
import pino, { type Logger } from 'pino';
import { redact } from './redact.ts';

export type { Logger };

/**
 * Creates a logger that writes JSON, by default to standard error, and redacts credentials in every line. Lines that are logged
 * during a turn also have the turn's trace, chat and entry. An error in a field becomes its name, message and stack, because
 * its other properties may hold a user's text, such as the arguments of a Redis command.
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
      formatters: { log: describeErrors },
    },
    { write: (line: string) => destination.write(redact(line)) },
  );
}

function describeErrors(fields: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(fields);
  const isError = ([name, value]: [string, unknown]) => name === 'err' || value instanceof Error;
  if (!entries.some(isError)) return fields;
  return Object.fromEntries(entries.map((entry) => (isError(entry) ? [entry[0], describeError(entry[1])] : entry)));
}

/** Reduces an error to its name, message and stack, for logs: shortened, and with credentials redacted. */
export function describeError(error: unknown): { name: string; message: string; stack?: string } {
  if (!(error instanceof Error)) return { name: 'NonError', message: redact(String(error)).slice(0, 500) };
  return {
    name: error.name,
    message: redact(error.message).slice(0, 500),
    ...(error.stack && { stack: redact(error.stack).split('\n').slice(1, 8).join('\n') }),
  };
}

const LOG_FIELDS = createContextKey('spillway log fields');

/** Adds fields to every line logged during `work`, also after an await. Replaces the fields of an outer `withLogFields`. */
export function withLogFields<T>(fields: Readonly<Record<string, unknown>>, work: () => Promise<T>): Promise<T> {
  return context.with(context.active().setValue(LOG_FIELDS, fields), work);
}

/** The fields for a log line of the current context: its trace id, if any, and the fields of `withLogFields`. */
function fieldsNow(): Record<string, unknown> {
  const active = context.active();
  const traceId = trace.getSpanContext(active)?.traceId;
  return { ...(traceId !== undefined && { traceId }), ...(active.getValue(LOG_FIELDS) as object | undefined) };
}

const REPEAT_MS = 60_000;

/**
 * Creates a function that logs a warning at most once a minute, with the number of calls since the last warning and the details
 * of the newest call. Without this limit, strangers on the network could fill the log. Calls of the last minute before the
 * process ends may be missing from the log.
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
    timer = setTimeout(write, REPEAT_MS).unref();
  };
  return (details = {}) => {
    count += 1;
    last = details;
    if (timer === undefined) write();
  };
}
