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
  /** W3C traceparent of the parent; the active span when absent. */
  parent?: string | undefined;
  root?: boolean;
  /** A UUID that gives the span its id, so that others can name it even if it is never exported. */
  token?: string | undefined;
  /** The token of the span that this one goes on from: a link within the trace. */
  after?: string | undefined;
}

/** Runs `work` in a span; an error marks the span as failed and is rethrown. */
export type RunInSpan = <T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
  options?: SpanOptions,
) => Promise<T>;

/**
 * Spans of one scope; what runs inside the span of a turn is noted as its step. Where nothing is exported, only a message's
 * first span gets ids of its own: the others share its trace without a span.
 */
export function createSpans(
  scope: string,
  { turns, turnName, isExporting }: { turns: RunningTurns; turnName: string; isExporting: boolean },
): RunInSpan {
  const tracer = trace.getTracer(scope);
  return async (name, attributes, work, options = {}) => {
    const parent = parentContext(options);
    const known = isExporting || options.root ? undefined : ownSpan(parent);
    const kind = options.kind ?? SpanKind.INTERNAL;
    const started = { attributes, kind, root: options.root ?? false, links: linksTo(options.after, parent) };
    const start = () => tracer.startSpan(name, started, parent);
    const span = known ?? withIdOf(options.token, start);
    const ctx = known === undefined ? trace.setSpan(parent, span) : parent;
    const step = name === turnName ? turns.begin(ctx, name) : { ctx, end: turns.enter(ctx, name) };
    try {
      return await context.with(step.ctx, () => work(span));
    } catch (error) {
      failSpan(span, error instanceof Error ? error.name : 'error');
      throw error;
    } finally {
      step.end();
      if (known === undefined) span.end();
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

/** When a span that is over began, and in which trace. */
export interface MarkOptions extends Pick<SpanOptions, 'parent' | 'token'> {
  sinceMs?: number;
  untilMs?: number;
}

/** Spans that are over. */
export function createMarks(scope: string): (name: string, attributes: Attributes, at?: MarkOptions) => void {
  const tracer = trace.getTracer(scope);
  return (name, attributes, { sinceMs, untilMs, parent, token } = {}) => {
    const options = { attributes, ...(sinceMs !== undefined && { startTime: sinceMs }) };
    withIdOf(token, () => tracer.startSpan(name, options, parentContext({ parent }))).end(untilMs);
  };
}

/** The active span, unless it is another process's: that one may be recorded, and this one must not claim to be. */
function ownSpan(ctx: Context): Span | undefined {
  const span = trace.getSpan(ctx);
  return span?.spanContext().isRemote === true ? undefined : span;
}

/** Marks a span as failed, with a short code and never with words that may quote content. */
export function failSpan(span: Span, why: string): void {
  span.setAttribute('error.type', why);
  span.setStatus({ code: SpanStatusCode.ERROR, message: why });
}

function parentContext({ parent = '' }: SpanOptions): Context {
  const stated = readTraceparent(parent);
  return stated === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, stated);
}

/** W3C trace context: version, trace id, span id, flags. Later versions may add fields, version ff is forbidden. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** A span's W3C traceparent; empty when there is none. */
export function writeTraceparent(span: SpanContext | undefined): string {
  if (span === undefined || !isSpanContextValid(span)) return '';
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`;
}

/** The span that a W3C traceparent names, as another process' one; `undefined` when it names none. */
export function readTraceparent(text: string): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? [];
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}

/** The name of a chat in spans. */
export type NameChat = (chat: string) => string;

const NAME_CHARS = 16;
const KEPT_MAX = 10_000;

/**
 * Names a chat by a hash with a key, so that whoever reads traces can follow a chat and not tell whose it is; `plain`: by its
 * own id. The same key gives the same name.
 */
export function createChatNames({ key, plain }: { key: string; plain: boolean }): NameChat {
  if (plain) return (chat) => chat;
  const kept = new BoundedMap<string, string>(KEPT_MAX);
  const nameOf = (chat: string) => createHmac('sha256', `spillway chat ${key}`).update(chat).digest('hex');
  return (chat) => kept.getOrInsertComputed(chat, () => nameOf(chat).slice(0, NAME_CHARS));
}
