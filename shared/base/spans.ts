import { createHmac } from 'node:crypto';
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { BoundedMap } from './bounded-map.ts';
import type { RunningTurns } from './process-gauges.ts';
import { startWithId } from './trace-ids.ts';

export interface SpanOptions {
  kind?: SpanKind;
  /** The W3C traceparent of the parent span. Without it, the active span is the parent. */
  parent?: string | undefined;
  root?: boolean;
  /** A UUID from which the span's id is derived, so that other spans can refer to this span even if it is never exported. */
  token?: string | undefined;
  /** The token of an earlier span of the same trace, to which this span links. */
  after?: string | undefined;
}

/** Runs `work` in a span. An error of `work` marks the span as failed and is rethrown. */
export type RunInSpan = <T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
  options?: SpanOptions,
) => Promise<T>;

/**
 * Returns a function that runs work in spans. A span inside the span of a turn becomes the turn's current step. If no spans are
 * exported, work inside another span of this process runs in that span, whose ids suffice. `root` always creates a span.
 */
export function createSpans(
  scope: string,
  { turns, turnName, isExporting }: { turns: RunningTurns; turnName: string; isExporting: boolean },
): RunInSpan {
  const tracer = trace.getTracer(scope);
  return async (name, attributes, work, options = {}) => {
    const parent = parentContext(options);
    const enclosing = isExporting || options.root ? undefined : ownSpan(parent);
    const kind = options.kind ?? SpanKind.INTERNAL;
    const started = { attributes, kind, root: options.root ?? false, links: linksTo(options.after, parent) };
    const start = () => tracer.startSpan(name, started, parent);
    const span = enclosing ?? withIdOf(options.token, start);
    const ctx = enclosing === undefined ? trace.setSpan(parent, span) : parent;
    const step = name === turnName ? turns.begin(ctx, name) : { ctx, end: turns.enter(ctx, name) };
    try {
      return await context.with(step.ctx, () => work(span));
    } catch (error) {
      failSpan(span, error instanceof Error ? error.name : 'error');
      throw error;
    } finally {
      step.end();
      if (enclosing === undefined) span.end();
    }
  };
}

function withIdOf(token: string | undefined, start: () => Span): Span {
  return token === undefined ? start() : startWithId(idOf(token), start);
}

const SPAN_ID_CHARS = 16;

function idOf(token: string): string {
  return token.replaceAll('-', '').slice(-SPAN_ID_CHARS);
}

function linksTo(token: string | undefined, ctx: Context): Link[] {
  const here = trace.getSpanContext(ctx);
  return token === undefined || here === undefined ? [] : [{ context: { ...here, spanId: idOf(token) } }];
}

/** The times, the parent and the token of a span that has already ended. */
export interface MarkOptions extends Pick<SpanOptions, 'parent' | 'token'> {
  sinceMs?: number;
  untilMs?: number;
}

/** Returns a function that records a span that has already ended. */
export function createMarks(scope: string): (name: string, attributes: Attributes, at?: MarkOptions) => void {
  const tracer = trace.getTracer(scope);
  return (name, attributes, { sinceMs, untilMs, parent, token } = {}) => {
    const options = { attributes, ...(sinceMs !== undefined && { startTime: sinceMs }) };
    withIdOf(token, () => tracer.startSpan(name, options, parentContext({ parent }))).end(untilMs);
  };
}

/** The span of a context, if this process created it. Another process's span may be recorded there, but never here. */
function ownSpan(ctx: Context): Span | undefined {
  const span = trace.getSpan(ctx);
  return span?.spanContext().isRemote === true ? undefined : span;
}

/** Marks a span as failed. `why` is a short code, and never a text that may quote content. */
export function failSpan(span: Span, why: string): void {
  span.setAttribute('error.type', why);
  span.setStatus({ code: SpanStatusCode.ERROR, message: why });
}

function parentContext({ parent = '' }: SpanOptions): Context {
  const remote = readTraceparent(parent);
  return remote === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, remote);
}

/** The W3C trace context: version, trace id, span id, flags. Later versions may add fields; the version `ff` is forbidden. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** Writes the W3C traceparent of a span; an empty text without a valid span. */
export function writeTraceparent(span: SpanContext | undefined): string {
  if (span === undefined || !isSpanContextValid(span)) return '';
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`;
}

/** Reads a W3C traceparent as the span of another process; `undefined` if it is malformed. */
export function readTraceparent(text: string): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? [];
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}

/** Returns the name of a chat in spans. `chat` is the chat's key. */
export type NameChat = (chat: string) => string;

const NAME_CHARS = 16;
const NAMES_MAX = 10_000;

/**
 * Names chats by a keyed hash, so that a reader of traces can follow a chat without knowing whose chat it is. The same `key`
 * always gives the same names. With `plain`, chats have their own keys as names.
 */
export function createChatNames({ key, plain }: { key: string; plain: boolean }): NameChat {
  if (plain) return (chat) => chat;
  const names = new BoundedMap<string, string>(NAMES_MAX);
  const nameOf = (chat: string) => createHmac('sha256', `spillway chat ${key}`).update(chat).digest('hex');
  return (chat) => names.getOrInsertComputed(chat, () => nameOf(chat).slice(0, NAME_CHARS));
}
