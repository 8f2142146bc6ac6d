import { SPAN } from '../../../shared/base/telemetry.ts';
import type { FoundSpan } from './jaeger.ts';

/** A line of Jaeger's timeline, as a reader sees it. */
export interface Row {
  service: string;
  name: string;
  /** How far it stands in; 0 is a root. */
  depth: number;
  /** Whether it has a button that leads to another line. */
  isLinked: boolean;
  /** What its icon says that it is in a conversation with a model, in Jaeger's own words. */
  kind?: string;
}

/** The lines that a page of a trace shows now. Pure. */
export function rowsOf(html: string): Row[] {
  return html.split('<div class="span-name-wrapper').slice(1).map(rowOf);
}

function rowOf(part: string): Row {
  const [, inside = '', name = '', after = ''] =
    /<span class="span-svc-name[^>]*>(.*?)<small class="endpoint-name">([^<]*)<(.*?)<div class="[^"]*span-view/s.exec(
      part,
    ) ?? [];
  const kind = /aria-label="([^"]*)" class="GenAISpanIcon/.exec(inside)?.[1];
  return {
    service: inside.replaceAll(/<[^>]*>/g, '').trim(),
    name,
    depth: part.split('"SpanTreeOffset--indentGuide').length - 1,
    isLinked: after.includes('ReferencesButton'),
    ...(kind !== undefined && { kind }),
  };
}

const ATTEMPT = /^turn(?:\.cut)?$/;
/** What Jaeger says of each line that is part of a conversation with a model; of all others it says nothing. */
const KINDS: readonly (readonly [name: RegExp, kind: string])[] = [
  [ATTEMPT, 'AI Agent'],
  [/^anthropic\.messages\.create$/, 'LLM call'],
  [/^execute_tool /, 'MCP Tool call'],
];

/** What a reader would get wrong, or not find, among the lines of a trace, a line each. Pure. */
export function wrongIn(rows: readonly Row[], needed: readonly string[]): string[] {
  const names = new Set(rows.map(({ name }) => name));
  const attempts = rows.filter(({ name }) => ATTEMPT.test(name));
  const roots = rows.filter(({ depth }) => depth === 0).map(({ name }) => name);
  return [
    ...needed.filter((name) => !names.has(name)).map((name) => `${name} is not shown`),
    ...(roots.length === 1 ? [] : [`several lines hang loose: ${roots.join(', ')}`]),
    ...attempts
      .filter(({ isLinked }) => !isLinked && attempts.length > 1)
      .map(({ name }) => `a ${name} leads to no other attempt`),
    ...rows.flatMap(({ name, service, kind }) => {
      const right = KINDS.find(([of]) => of.test(name))?.[1];
      return [
        ...(service === 'spillway' ? [] : [`${name} is of "${service}"`]),
        ...(kind === right ? [] : [`${name} is shown as ${kind ?? 'nothing'}, not as ${right ?? 'nothing'}`]),
      ];
    }),
  ];
}

/** Whether a trace is of a message that went through both stages of the recovery, the first with success. Pure. */
export function isOverflow(spans: readonly FoundSpan[]): boolean {
  const names = namesIn(spans);
  const isCompacted = ({ operationName, tags }: FoundSpan): boolean =>
    operationName === SPAN.overflowCompacted && tags.some(({ key, value }) => key === 'success' && value === true);
  return [SPAN.overflowNewSession, SPAN.settle].every((name) => names.has(name)) && spans.some(isCompacted);
}

/** Whether it is of a message that was answered at once, with tools. Pure. */
export function isToolTurn(spans: readonly FoundSpan[]): boolean {
  return namesIn(spans).has(SPAN.settle) && !namesIn(spans).has(SPAN.cut) && spans.some(isTool);
}

/** Whether its message is being answered, and a tool was called for it. Pure. */
export function isRunning(spans: readonly FoundSpan[]): boolean {
  return namesIn(spans).has(SPAN.started) && spans.some(isTool) && !namesIn(spans).has(SPAN.settle);
}

/** Whether a tool was called for it, an attempt was cut, and the next one goes on from that. Pure. */
export function isCut(spans: readonly FoundSpan[]): boolean {
  if (!spans.some(isTool)) return false;
  const cut = spans.find(({ operationName }) => operationName === SPAN.cut)?.spanID;
  return spans.some(
    ({ operationName, references }) =>
      operationName === SPAN.turn && references.some((link) => link.refType === 'FOLLOWS_FROM' && link.spanID === cut),
  );
}

/** The names of the spans of a trace. Pure. */
export function namesIn(spans: readonly FoundSpan[]): Set<string> {
  return new Set(spans.map(({ operationName }) => operationName));
}

function isTool({ operationName }: FoundSpan): boolean {
  return operationName.startsWith(`${SPAN.tool} `);
}
