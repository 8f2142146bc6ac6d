import { context, createContextKey, trace } from '@opentelemetry/api';
import pino, { type Logger } from 'pino';
import { redact } from './redact.ts';

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

const ABOUT = createContextKey('spillway log fields');

/** Has every line that is logged within `work`, also after an await, carry these fields. */
export function loggingAbout<T>(fields: Readonly<Record<string, unknown>>, work: () => Promise<T>): Promise<T> {
  return context.with(context.active().setValue(ABOUT, fields), work);
}

/** The fields of a line that is logged now: those of the work that it belongs to, with the id of its trace. */
function fieldsNow(): Record<string, unknown> {
  const active = context.active();
  const traceId = trace.getSpanContext(active)?.traceId;
  return { ...(traceId !== undefined && { traceId }), ...(active.getValue(ABOUT) as object | undefined) };
}

const EVERY_MS = 60_000;

/**
 * Logs what anybody on the network can cause, who must not be able to fill the log: the first at once, and the others
 * once a minute, with their number and what the last one was. The log of a process that ends lacks at most its last
 * minute.
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
    timer = setTimeout(write, EVERY_MS).unref();
  };
  return (details = {}) => {
    count += 1;
    last = details;
    if (timer === undefined) write();
  };
}
