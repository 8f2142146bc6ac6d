import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import type { FoundRedisServer } from '../../../shared/private-redis/install.ts';
import { checkAlertmanager } from './alertmanager-checks.ts';
import { readPanels } from './board.ts';
import { playDay } from './day.ts';
import { FAILURE_HOURS } from './failure-hours.ts';
import { createGround, type Ground } from './ground.ts';
import { type Hook, openHook } from './hook.ts';
import { INCIDENTS } from './incidents.ts';
import { checkKept } from './kept-check.ts';
import { checkLabels } from './label-checks.ts';
import { type Found, findByHand } from './operator.ts';
import { PROCESS_HOURS } from './process-hours.ts';
import type { Prometheus, Span } from './prometheus.ts';
import { askPanels } from './query.ts';
import { QUIET_HOURS } from './quiet-hours.ts';
import { RECOVERY_HOURS } from './recovery-hours.ts';
import type { Verified } from './report.ts';
import { type Stack, startStack } from './stack.ts';
import type { Tools } from './tool.ts';
import { checkTraces } from './trace-checks.ts';
import { startTraffic } from './traffic.ts';

/** What a run is made with. */
export interface RunPorts {
  server: FoundRedisServer;
  tools: Tools;
  folder: string;
  runbook: string;
  /** Only hours and incidents whose name contains this. */
  only: string;
  say: (line: string) => void;
}

/** What the stack showed. */
type Shown = Pick<Verified, 'hours' | 'rules' | 'panels' | 'checks' | 'found'>;

/** What runs for the whole of a run. */
interface Scene extends RunPorts {
  hook: Hook;
  stack: Stack;
}

/** The day, in order. */
const HOURS = [...QUIET_HOURS, ...RECOVERY_HOURS, ...FAILURE_HOURS, ...PROCESS_HOURS];
const GATEWAYS = 2;
/** How many points over the day an expression is asked for. */
const POINTS = 150;
/** What the last hour sent is exported, scraped and stored. */
const SETTLE_MS = 4_000;

const running = new Set<{ abandon(): void }>();

/** Kills whatever this process started. */
export function abandonRuns(): void {
  for (const part of running) part.abandon();
}

/** Starts everything, plays the day and the incidents, looks at what was shown, and ends everything. */
export async function runAll(ports: RunPorts): Promise<Shown> {
  const hook = await openHook();
  const stack = await startStack(ports.tools, ports.folder, hook.url);
  running.add(stack);
  const scene = { ...ports, hook, stack };
  try {
    const day = await onGround(scene, (ground) => dayOf(scene, ground));
    return { ...day, found: await findAll(scene) };
  } finally {
    await stack.close();
    await hook.close();
    running.clear();
  }
}

/** Does something on a fresh ground, on which gateways run and people write. */
async function onGround<T>({ server, hook, stack }: Scene, act: (ground: Ground) => Promise<T>): Promise<T> {
  const ground = await createGround(server, hook, { otlpUrl: stack.otlpUrl, jaegerUrl: stack.jaeger?.url });
  running.add(ground);
  try {
    for (let n = 0; n < GATEWAYS; n++) await ground.fleet.start();
    const traffic = startTraffic(ground);
    try {
      return await act(ground);
    } finally {
      traffic.stop();
    }
  } finally {
    await ground.close();
    running.delete(ground);
  }
}

/** Without a collector and Prometheus no day can be looked at. */
async function dayOf(scene: Scene, ground: Ground): Promise<Omit<Shown, 'found'>> {
  const { stack, only } = scene;
  const { prometheus } = stack;
  const fromMs = Date.now();
  if (prometheus === undefined || stack.otlpUrl === undefined) return NOTHING;
  const chosen = HOURS.filter(({ name }) => name.includes(only));
  const hours = await playDay(chosen, { ...scene, ...stack, ground, prometheus });
  await pause(SETTLE_MS);
  const span = spanOf(fromMs, Date.now());
  const shown = await askAll(scene, prometheus, span, ground.notices());
  return { ...shown, hours };
}

const NOTHING: Omit<Shown, 'found'> = { hours: [], rules: [], panels: [], checks: [] };

function spanOf(fromMs: number, toMs: number): Span {
  return { fromMs, toMs, stepS: Math.max(1, Math.ceil((toMs - fromMs) / 1_000 / POINTS)) };
}

async function askAll(
  { stack, tools, hook, folder }: Scene,
  prometheus: Prometheus,
  span: Span,
  notices: readonly string[],
): Promise<Pick<Shown, 'rules' | 'panels' | 'checks'>> {
  const boards = readPanels(join(PROJECT_ROOT, 'ops', 'grafana', 'dashboards'));
  const panels = await askPanels(boards, prometheus, span);
  const rules = await prometheus.rules();
  const traces = await checkTraces({ jaeger: stack.jaeger, prometheus, span, panels: boards, notices });
  const kept = await checkKept(tools, folder, hook.url);
  const labels = await checkLabels(prometheus, span);
  const checks = [...traces, kept, ...labels, await checkAlertmanager(tools, hook)];
  return { panels, rules, checks };
}

/** Each incident has a ground of its own: what was open lately is not told again, and would hide what comes. */
async function findAll(scene: Scene): Promise<Found[]> {
  const { runbook, stack, only, say } = scene;
  const firing = async (): Promise<string[]> => (await stack.prometheus?.firing()) ?? [];
  const all: Found[] = [];
  for (const incident of INCIDENTS.filter(({ name }) => name.includes(only))) {
    const found = await onGround(scene, (ground) => findByHand(incident, { ground, runbook, firing }));
    all.push(found);
    say(`${(found.foundAt ?? 'NOT FOUND').padEnd(40)} ${found.name}`);
    const inAlert = found.alertNamesCause ? ', and the alert itself names the cause' : '';
    say(`         ${((found.foundMs ?? 0) / 1_000).toFixed(1)} s after the alert${inAlert}`);
  }
  return all;
}
