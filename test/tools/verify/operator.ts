import { setTimeout as pause } from 'node:timers/promises';
import { runFile } from '../../fixture/command.ts';
import { visitorOf } from '../../fixture/console.ts';
import { portOf } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';
import { commandEnv, type Ground } from './ground.ts';
import type { NightIncident } from './incidents.ts';
import { adviceAt, triageOf } from './runbook.ts';

/** Something that told the operator. */
interface Alert {
  by: 'Telegram' | 'webhook' | 'Prometheus';
  text: string;
  atMs: number;
}

/** One thing that the operator looked at, in the order in which the runbook names them. */
export interface Look {
  at: string;
  tookMs: number;
  namesCause: boolean;
}

/** How an incident was found. */
export interface Found {
  name: string;
  /** How long the trouble lasted until somebody was told. */
  alertAfterMs: number;
  by: Alert['by'];
  alert: string;
  /** Whether the alert itself says what is wrong. */
  alertNamesCause: boolean;
  heading: string;
  looks: readonly Look[];
  /** Where the cause was read first, and how long after the alert; `undefined` where it was not. */
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
  const nothing = { name: incident.name, by: 'Telegram', alert: '', heading: '', looks: [] } as const;
  const beganMs = Date.now();
  const told = alertOf(incident, desk);
  told.catch(() => {});
  const putRight = await incident.begin(ground);
  try {
    const alert = await told;
    const anchor = anchorIn(alert);
    const advice = adviceAt(runbook, anchor);
    const commands = [...triageOf(runbook).commands, ...advice.commands].flatMap((each) => filledIn(each, alert.text));
    const startedMs = performance.now();
    const looks = await lookThrough([...new Set(commands)], incident.cause, ground);
    const first = looks.findIndex(({ namesCause }) => namesCause);
    const tookMs = looks.slice(0, first + 1).reduce((sum, look) => sum + look.tookMs, 0);
    return {
      ...{ name: incident.name, by: alert.by, alert: alert.text, heading: advice.heading, looks },
      alertAfterMs: alert.atMs - beganMs,
      alertNamesCause: incident.cause.test(alert.text),
      foundAt: looks[first]?.at,
      foundMs: first < 0 ? undefined : Math.min(tookMs, performance.now() - startedMs),
    };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { ...nothing, alertAfterMs: 0, alertNamesCause: false, foundAt: undefined, foundMs: undefined, problem };
  } finally {
    await putRight();
    await ground.untilQuiet().catch(() => {});
  }
}

/** The first alert about it, whichever way it comes. */
async function alertOf(incident: NightIncident, { ground, firing }: Desk): Promise<Alert> {
  const [notices, posts, before] = [ground.notices().length, ground.hook.calls.length, await firing()];
  const look = async (): Promise<Alert | undefined> => {
    const fresh = [
      ...ground
        .notices()
        .slice(notices)
        .map((text) => ({ by: 'Telegram' as const, text })),
      ...ground.hook.calls.slice(posts).map(({ body }) => ({ by: 'webhook' as const, text: textOf(body) })),
      ...(await firing()).filter((name) => !before.includes(name)).map((text) => ({ by: 'Prometheus' as const, text })),
    ];
    const alert = fresh.find(({ text }) => incident.alert.test(text) && !text.startsWith('Resolved'));
    if (alert !== undefined) return { ...alert, atMs: Date.now() };
    await pause(LOOK_MS);
    return undefined;
  };
  return until(`alert about: ${incident.name}`, look, ALERT_MS);
}

function textOf(body: unknown): string {
  return String((body as { text?: unknown }).text ?? '');
}

/** A notice links to its section; a rule's section has its name. */
function anchorIn({ text }: Alert): string {
  return /^Runbook: \S+#(\S+)$/m.exec(text)?.[1] ?? text.toLowerCase();
}

/** The command with what the alert names; none where it names nothing that fits. */
function filledIn(command: string, alert: string): string[] {
  const id = /\b(\d{13}-\d+)\b/.exec(alert)?.[1] ?? /[Tt]race:? \S*?([0-9a-f]{32})/.exec(alert)?.[1];
  const chat = /[Cc]hat (\d+)/.exec(alert)?.[1];
  const filled = command.replace('<id>', id ?? '<id>').replace('<chat>', chat ?? '<chat>');
  return /<\w+>/.test(filled) ? [] : [filled];
}

async function lookThrough(commands: readonly string[], cause: RegExp, ground: Ground): Promise<Look[]> {
  const looks: Look[] = [];
  const look = async (at: string, read: () => Promise<string>): Promise<void> => {
    const startedMs = performance.now();
    const text = await read();
    looks.push({ at, tookMs: performance.now() - startedMs, namesCause: cause.test(text) });
  };
  for (const command of commands) {
    await look(`cli ${command}`, async () => {
      const options = { timeoutMs: COMMAND_MS };
      const { stdout, stderr } = await runFile('worker/cli/main.ts', command.split(' '), commandEnv(ground), options);
      return stdout + stderr;
    });
  }
  for (const page of ['/console', '/console/incidents', '/console/recoveries']) {
    await look(page, () => readPage(ground, page));
  }
  return looks;
}

async function readPage({ gateways }: Ground, page: string): Promise<string> {
  const [gateway] = gateways;
  if (gateway === undefined) return 'no process runs';
  const visitor = visitorOf(`http://127.0.0.1:${portOf(gateway)}`);
  await visitor.logIn();
  return (await visitor.get(page)).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}
