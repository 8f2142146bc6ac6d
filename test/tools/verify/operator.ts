import { setTimeout as pause } from 'node:timers/promises';
import { runFile } from '../../fixture/command.ts';
import { visitorOf } from '../../fixture/console.ts';
import { portOf } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';
import { commandEnv, type Ground } from './ground.ts';
import type { NightIncident } from './incidents.ts';
import { commandsAt } from './runbook.ts';

/** How an incident was found. */
export interface Found {
  name: string;
  /** Whether the alert itself says what is wrong. */
  alertNamesCause: boolean;
  /** The command or page at which the cause was read first, and how long after the alert; `undefined` where it was not. */
  foundAt: string | undefined;
  foundMs: number | undefined;
  problem?: string;
}

const ALERT_MS = 60_000;
const LOOK_MS = 100;
const COMMAND_MS = 30_000;

/** What an operator has: the runbook, and the rules that fire. */
export interface Desk {
  ground: Ground;
  runbook: string;
  firing: () => Promise<string[]>;
}

/** Plays an incident and lets a scripted operator find it, by alert, runbook, command line and console alone. */
export async function findByHand(incident: NightIncident, desk: Desk): Promise<Found> {
  const { ground, runbook } = desk;
  const { name } = incident;
  const coming = alertOf(incident, desk);
  coming.catch(() => {});
  const putRight = await incident.begin(ground);
  try {
    const alert = await coming;
    const sections = ['triage', anchorIn(alert)];
    const commands = sections.flatMap((anchor) => commandsAt(runbook, anchor)).flatMap((each) => filledIn(each, alert));
    const startedMs = performance.now();
    const foundAt = await lookThrough([...new Set(commands)], incident.cause, ground);
    const foundMs = foundAt === undefined ? undefined : performance.now() - startedMs;
    return { name, alertNamesCause: incident.cause.test(alert), foundAt, foundMs };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { name, alertNamesCause: false, foundAt: undefined, foundMs: undefined, problem };
  } finally {
    await putRight();
    await ground.untilQuiet().catch(() => {});
  }
}

/** The first alert about it, whichever way it comes. */
function alertOf(incident: NightIncident, { ground, firing }: Desk): Promise<string> {
  const [notices, posts] = [ground.notices().length, ground.hook.calls.length];
  const firingBefore = firing();
  const look = async (): Promise<string | undefined> => {
    const before = await firingBefore;
    const fresh = [
      ...ground.notices().slice(notices),
      ...ground.hook.calls.slice(posts).map(({ body }) => textOf(body)),
      ...(await firing()).filter((name) => !before.includes(name)),
    ];
    const alert = fresh.find((text) => incident.alert.test(text) && !text.startsWith('Resolved'));
    if (alert === undefined) await pause(LOOK_MS);
    return alert;
  };
  return until(`alert about: ${incident.name}`, look, ALERT_MS);
}

function textOf(body: unknown): string {
  return String((body as { text?: unknown }).text ?? '');
}

/** A notice links to its section; a rule's section has its name. */
function anchorIn(alert: string): string {
  return /^Runbook: \S+#(\S+)$/m.exec(alert)?.[1] ?? alert.toLowerCase();
}

/** The command with what the alert names; none where it names nothing that fits. */
function filledIn(command: string, alert: string): string[] {
  const id = /\b(\d{13}-\d+)\b/.exec(alert)?.[1] ?? /[Tt]race:? \S*?([0-9a-f]{32})/.exec(alert)?.[1];
  const chat = /[Cc]hat (\d+)/.exec(alert)?.[1];
  const filled = command.replace('<id>', id ?? '<id>').replace('<chat>', chat ?? '<chat>');
  return /<\w+>/.test(filled) ? [] : [filled];
}

/** The first command or page that names the cause. */
async function lookThrough(commands: readonly string[], cause: RegExp, ground: Ground): Promise<string | undefined> {
  for (const command of commands) {
    const options = { timeoutMs: COMMAND_MS };
    const { stdout, stderr } = await runFile('worker/cli/main.ts', command.split(' '), commandEnv(ground), options);
    if (cause.test(stdout + stderr)) return `cli ${command}`;
  }
  const pages = ['/console', '/console/incidents', '/console/recoveries'];
  for (const page of pages) if (cause.test(await readPage(ground, page))) return page;
  return undefined;
}

async function readPage({ fleet }: Ground, page: string): Promise<string> {
  const [gateway] = fleet.running;
  if (gateway === undefined) return 'no process runs';
  const visitor = visitorOf(`http://127.0.0.1:${portOf(gateway)}`);
  await visitor.logIn();
  return (await visitor.get(page)).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}
