import assert from 'node:assert/strict';
import { SPAN } from '../../../shared/base/telemetry.ts';
import { until } from '../../fixture/root.ts';
import { filledIn, type Panel } from './board.ts';
import { type Checked, checked, notRun } from './check.ts';
import { type FoundSpan, type Jaeger, namesIn } from './jaeger.ts';
import type { Prometheus, Span } from './prometheus.ts';

/** What the traces are checked with. */
export interface TraceGround {
  jaeger: Jaeger | undefined;
  prometheus: Prometheus;
  span: Span;
  panels: readonly Panel[];
  /** The notices that the operator got. */
  notices: readonly string[];
}

const TURN = [SPAN.receive, SPAN.turn, SPAN.open, 'anthropic.messages.create', SPAN.deliver, SPAN.settle];
const STAGE_TWO = [
  SPAN.overflowDetected,
  SPAN.overflowCompacted,
  SPAN.overflowRecoveryFailed,
  SPAN.overflowRecovery,
  SPAN.overflowNewSession,
];
const FOUND_MS = 10_000;
const TRACES = 300;
const EXEMPLARS = 20;

/** Fetches traces back from Jaeger, by every way that an operator has. Never rejects. */
export async function checkTraces(ground: TraceGround): Promise<Checked[]> {
  const { jaeger } = ground;
  const checks = Object.entries(CHECKS);
  if (jaeger === undefined) return checks.map(([name]) => notRun(name, 'Jaeger was not found'));
  const all: Checked[] = [];
  for (const [name, run] of checks) all.push(await checked(name, () => run({ ...ground, jaeger })));
  return all;
}

type Run = (ground: TraceGround & { jaeger: Jaeger }) => Promise<string>;

const CHECKS: Readonly<Record<string, Run>> = {
  'the link in an alert about a fresh session opens its trace, with every span of the turn and of both stages': byAlert,
  'on each panel that shows exemplars, a dot opens a trace': byExemplar,
  "a panel's search for traces finds some": byPanel,
  'each message is one trace with one root': oneRoot,
  'each message ended once': settledOnce,
  'Jaeger holds the traces of the gateway alone': oursAlone,
};

async function byAlert({ jaeger, notices }: TraceGround & { jaeger: Jaeger }): Promise<string> {
  const stageTwo = notices.filter((text) => /goes on in a fresh session/.test(text));
  const links = stageTwo.flatMap((text) => /^Trace: \S+\/trace\/([0-9a-f]{32})$/m.exec(text)?.[1] ?? []);
  assert.ok(links.length > 0, 'no notice about a fresh session has a link');
  for (const traceId of links) {
    const names = namesIn(await untilTrace(jaeger, traceId));
    if (![...TURN, ...STAGE_TWO].every((name) => names.has(name))) continue;
    return `${names.size} kinds of spans, among them ${STAGE_TWO.join(', ')}`;
  }
  throw new Error(`of ${links.length} traces none has all of ${[...TURN, ...STAGE_TWO].join(', ')}`);
}

async function byExemplar({ jaeger, prometheus, span, panels }: TraceGround & { jaeger: Jaeger }): Promise<string> {
  const seen: string[] = [];
  for (const { title, targets } of panels) {
    const [target] = targets.filter(({ hasExemplars }) => hasExemplars);
    if (target === undefined) continue;
    const traceIds = (await prometheus.exemplars(filledIn(target.expr, span), span)).slice(-EXEMPLARS);
    const traces = await Promise.all(traceIds.map((traceId) => jaeger.trace(traceId)));
    const found = traces.filter((spans) => spans.length > 0).length;
    assert.ok(found > 0, `"${title}" has ${traceIds.length} exemplars, and ${found} of them have their trace`);
    seen.push(`"${title}": ${found} of the last ${traceIds.length}`);
  }
  assert.ok(seen.length > 0, 'no panel shows exemplars');
  return seen.join(', ');
}

async function byPanel({ jaeger, panels }: TraceGround & { jaeger: Jaeger }): Promise<string> {
  const searches = panels.flatMap((panel) => panel.searches);
  const counts = await Promise.all(
    searches.map(async ({ service, operation }) => (await jaeger.search(service, operation, 20)).length),
  );
  assert.ok(
    counts.some((count) => count > 0),
    'no search finds any',
  );
  return searches.map(({ service }, index) => `service ${service}: ${counts[index]}`).join(', ');
}

async function oneRoot({ jaeger }: TraceGround & { jaeger: Jaeger }): Promise<string> {
  const traces = await jaeger.search('spillway', SPAN.settle, TRACES);
  const roots = traces.map((spans) => spans.filter(({ operationName }) => operationName === SPAN.receive).length);
  const whole = roots.filter((count) => count === 1).length;
  assert.ok(traces.length > 0, 'there are no traces');
  assert.ok(whole >= traces.length * 0.95, `of ${traces.length} settled messages only ${whole} have one root`);
  return `${whole} of the last ${traces.length} settled messages; a kill -9 loses spans of a second`;
}

async function settledOnce({ jaeger }: TraceGround & { jaeger: Jaeger }): Promise<string> {
  const traces = await jaeger.search('spillway', SPAN.settle, TRACES);
  const twice = traces.filter((spans) => count(spans, SPAN.settle) > 1).length;
  assert.equal(twice, 0, `of ${traces.length} messages ${twice} ended twice`);
  return `all of the last ${traces.length}`;
}

async function oursAlone({ jaeger }: TraceGround & { jaeger: Jaeger }): Promise<string> {
  const services = await jaeger.services();
  assert.deepEqual(
    services.filter((name) => !name.startsWith('spillway')),
    [],
    services.join(', '),
  );
  return services.join(', ');
}

/** A trace is stored a moment after it ends. */
function untilTrace(jaeger: Jaeger, traceId: string): Promise<FoundSpan[]> {
  const look = async () => {
    const spans = await jaeger.trace(traceId);
    return spans.length > 0 ? spans : undefined;
  };
  return until(`trace ${traceId}`, look, FOUND_MS);
}

function count(spans: readonly FoundSpan[], name: string): number {
  return spans.filter(({ operationName }) => operationName === name).length;
}
