import { context, createContextKey, trace } from '@opentelemetry/api';

const ABOUT = createContextKey('spillway log fields');

/** Has every line that is logged within `work`, also after an await, carry these fields. */
export function loggingAbout<T>(fields: Readonly<Record<string, unknown>>, work: () => Promise<T>): Promise<T> {
  return context.with(context.active().setValue(ABOUT, fields), work);
}

/** The fields of a line that is logged now: those of the work that it belongs to, with the id of its trace. */
export function fieldsNow(): Record<string, unknown> {
  const active = context.active();
  const traceId = trace.getSpanContext(active)?.traceId;
  return { ...(traceId !== undefined && { traceId }), ...(active.getValue(ABOUT) as object | undefined) };
}
