/** OTLP's JSON encoding, read into plain objects. Pure. */

import type { ExportedPoint, ExportedSpan } from './otlp.ts';

type Json = Record<string, unknown>;

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const CODES = ['unset', 'ok', 'error'] as const;
const NANOS_PER_MS = 1e6;

const list = (value: unknown): Json[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const millis = (nanos: unknown): number => Number(nanos ?? 0) / NANOS_PER_MS;

function plainValue(any: unknown): unknown {
  const value = (any ?? {}) as Json;
  if ('intValue' in value) return Number(value.intValue);
  if ('arrayValue' in value) return list((value.arrayValue as Json).values).map(plainValue);
  if ('kvlistValue' in value) return attributesOf((value.kvlistValue as Json).values);
  return Object.values(value)[0] ?? null;
}

function attributesOf(pairs: unknown): Record<string, unknown> {
  return Object.fromEntries(list(pairs).map(({ key, value }) => [text(key), plainValue(value)]));
}

interface Scoped {
  readonly item: Json;
  readonly scope: string;
  readonly service: string;
}

/** Walks resource, scope and item, whose names differ by signal only. */
function scoped(body: Json, signal: 'Spans' | 'Metrics', items: string): Scoped[] {
  return list(body[`resource${signal}`]).flatMap((resource) => {
    const service = text(attributesOf((resource.resource as Json | undefined)?.attributes)['service.name']);
    return list(resource[`scope${signal}`]).flatMap((group) => {
      const scope = text((group.scope as Json | undefined)?.name);
      return list(group[items]).map((item) => ({ item, scope, service }));
    });
  });
}

/** The spans of an export request. */
export function spansOf(body: Json): ExportedSpan[] {
  return scoped(body, 'Spans', 'spans').map(({ item, scope, service }) => {
    const parent = text(item.parentSpanId);
    const status = (item.status ?? {}) as Json;
    return {
      traceId: text(item.traceId),
      spanId: text(item.spanId),
      ...(parent !== '' && { parentSpanId: parent }),
      name: text(item.name),
      kind: KINDS[Number(item.kind ?? 0)] ?? 'unspecified',
      startMs: millis(item.startTimeUnixNano),
      endMs: millis(item.endTimeUnixNano),
      attributes: attributesOf(item.attributes),
      status: {
        code: CODES[Number(status.code ?? 0)] ?? 'unset',
        ...(status.message ? { message: text(status.message) } : {}),
      },
      links: list(item.links).map((link) => ({
        traceId: text(link.traceId),
        spanId: text(link.spanId),
        attributes: attributesOf(link.attributes),
      })),
      events: list(item.events).map((event) => ({
        name: text(event.name),
        atMs: millis(event.timeUnixNano),
        attributes: attributesOf(event.attributes),
      })),
      scope,
      service,
    };
  });
}

/** The data points of an export request, whatever the instrument. */
export function pointsOf(body: Json): ExportedPoint[] {
  return scoped(body, 'Metrics', 'metrics').flatMap(({ item, service }) => {
    const data = (item.sum ?? item.gauge ?? item.histogram ?? item.exponentialHistogram ?? {}) as Json;
    return list(data.dataPoints).map((point) => ({
      name: text(item.name),
      unit: text(item.unit),
      attributes: attributesOf(point.attributes),
      value: Number(point.asDouble ?? point.asInt ?? point.sum ?? 0),
      ...(point.count !== undefined && { count: Number(point.count) }),
      service,
    }));
  });
}

/** What makes two data points the same series. */
export function pointKey({ service, name, attributes }: ExportedPoint): string {
  return JSON.stringify([service, name, Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
