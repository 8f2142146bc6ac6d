import { expect, test } from '@jest/globals';
import { SPAN } from '../../../shared/base/telemetry.ts';
import type { FoundSpan } from './jaeger.ts';
import { isCut, isOverflow, isRunning, isToolTurn, type Row, rowsOf, wrongIn } from './shown.ts';

const LINK = '<a role="button" class="ReferencesButton-MultiParent"><svg></svg></a>';

/** A line as Jaeger 2.20 draws it, less what is only for the eye. */
function line({ depth, kind, name, isLinked }: Row): string {
  const guides = '<span class="SpanTreeOffset--indentGuide" data-ancestor-id="a1"></span>'.repeat(depth);
  const icon =
    kind === undefined ? '' : `<span role="img" aria-label="${kind}" class="GenAISpanIcon"><svg></svg></span>`;
  return `<div class="span-name-wrapper "><span class="SpanTreeOffset">${guides}</span><a class="span-name ">
    <span class="span-svc-name ">${icon}spillway </span><small class="endpoint-name">${name}</small></a>${isLinked ? LINK : ''}</div>
    <div class="ub-relative span-view"><div aria-label="3.9s" class="SpanBar--bar"></div></div>`;
}

const row = (name: string, depth: number, more: Partial<Row> = {}): Row => ({
  ...{ service: 'spillway', name, depth, isLinked: false },
  ...more,
});
const RIGHT = [
  row(SPAN.receive, 0),
  row(SPAN.cut, 1, { kind: 'AI Agent', isLinked: true }),
  row('execute_tool notebook__look', 2, { kind: 'MCP Tool call' }),
  row(SPAN.turn, 1, { kind: 'AI Agent', isLinked: true }),
  row('anthropic.messages.count_tokens', 2),
  row('anthropic.messages.create', 2, { kind: 'LLM call' }),
];

test('the lines of a page are read with what a reader sees of each', () => {
  expect(rowsOf(`<html>${RIGHT.map(line).join('')}</html>`)).toEqual(RIGHT);
  expect(wrongIn(RIGHT, [SPAN.cut])).toEqual([]);
});

test('a name that is missing, a loose line, a lost link and a wrong icon are each told', () => {
  const wrong = [
    row(SPAN.receive, 0),
    row(SPAN.started, 0),
    row(SPAN.turn, 1, { kind: 'AI Agent' }),
    row(SPAN.turn, 1, { kind: 'AI Agent', isLinked: true }),
    row('anthropic.models.retrieve', 2, { kind: 'GenAI span' }),
    row('execute_tool unknown', 2, { service: 'someone' }),
  ];
  expect(wrongIn(wrong, [SPAN.cut])).toEqual([
    'turn.cut is not shown',
    'several lines hang loose: receive telegram, turn.started',
    'a turn leads to no other attempt',
    'anthropic.models.retrieve is shown as GenAI span, not as nothing',
    'execute_tool unknown is of "someone"',
    'execute_tool unknown is shown as nothing, not as MCP Tool call',
  ]);
});

const span = (operationName: string, more: Partial<FoundSpan> = {}): FoundSpan => ({
  ...{ traceID: 't', spanID: operationName, operationName, references: [], tags: [] },
  ...more,
});
const [settle, look] = [span(SPAN.settle), span('execute_tool notebook__look')];

test('a trace is of both stages only when the first one succeeded', () => {
  const withSuccess = (value: boolean) => [
    span(SPAN.overflowCompacted, { tags: [{ key: 'success', value }] }),
    span(SPAN.overflowNewSession),
    settle,
  ];
  expect([withSuccess(true), withSuccess(false)].map(isOverflow)).toEqual([true, false]);
});

test('a turn with tools is over and was not cut; one that runs is not over', () => {
  const traces = [[settle, look], [span(SPAN.cut), settle, look], [span(SPAN.started), look], [settle]];
  expect(traces.map(isToolTurn)).toEqual([true, false, false, false]);
  expect(traces.map(isRunning)).toEqual([false, false, true, false]);
});

test('a cut turn is one with a tool that another goes on from', () => {
  const from = (spanID: string) => span(SPAN.turn, { references: [{ refType: 'FOLLOWS_FROM', spanID }] });
  const right = [look, span(SPAN.cut), from(SPAN.cut)];
  const wrong = [right.slice(1), [look, from(SPAN.cut)], [look, span(SPAN.cut), from('x')]];
  expect([right, ...wrong].map(isCut)).toEqual([true, false, false, false]);
});
