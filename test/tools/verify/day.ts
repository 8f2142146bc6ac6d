import { setTimeout as pause } from 'node:timers/promises';
import type { Daemon } from './daemon.ts';
import type { Ground } from './ground.ts';
import type { Hour } from './hour.ts';
import type { Jaeger } from './jaeger.ts';
import type { Prometheus } from './prometheus.ts';
import type { ToolName } from './tool.ts';

/** An hour that was played. */
export interface PlayedHour {
  name: string;
  fires: readonly string[];
  fromMs: number;
  toMs: number;
  /** The alerts that fired during it. */
  seen: ReadonlySet<string>;
  /** Why it did not go as it should. */
  problem?: string;
}

/** What a day is played with. */
export interface DayPorts {
  ground: Ground;
  daemons: Readonly<Partial<Record<ToolName, Daemon>>>;
  jaeger: Jaeger | undefined;
  prometheus: Prometheus;
  say: (line: string) => void;
}

/** How long a rule may take to see its trouble: longer than the longest shortened range and `for` together. */
const FIRING_MS = 90_000;
const CALM_MS = 20_000;
const LOOK_MS = 500;

/** Plays the hours one after another. Never rejects because of an hour: what went wrong is told with it. */
export async function playDay(hours: readonly Hour[], ports: DayPorts): Promise<PlayedHour[]> {
  const played: PlayedHour[] = [];
  for (const hour of hours) {
    const one = await playHour(hour, ports);
    played.push(one);
    ports.say(lineOf(one));
  }
  return played;
}

async function playHour(hour: Hour, { ground, daemons, jaeger, prometheus }: DayPorts): Promise<PlayedHour> {
  await untilCalm(prometheus, hour.fires);
  const fromMs = Date.now();
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    for (const name of await prometheus.firing()) seen.add(name);
  };
  const untilFiring = async (names: readonly string[]): Promise<void> => {
    const deadline = Date.now() + FIRING_MS;
    for (; Date.now() < deadline && names.some((name) => !seen.has(name)); await pause(LOOK_MS)) await look();
  };
  let problem: string | undefined;
  try {
    await hour.play({ ground, daemons, jaeger, untilFiring });
    await look();
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
    restore(ground, daemons);
  }
  return {
    ...{ name: hour.name, fires: hour.fires, fromMs, toMs: Date.now(), seen },
    ...(problem !== undefined && { problem }),
  };
}

/** An alert that still fires because of the hour before would be taken for this hour's. */
async function untilCalm(prometheus: Prometheus, names: readonly string[]): Promise<void> {
  const fires = async (): Promise<boolean> => (await prometheus.firing()).some((name) => names.includes(name));
  for (const deadline = Date.now() + CALM_MS; Date.now() < deadline && (await fires()); ) await pause(LOOK_MS);
}

/** The next hour must not suffer from one that ended early. */
function restore(ground: Ground, daemons: DayPorts['daemons']): void {
  ground.telegram.heal();
  ground.hook.isDown = false;
  for (const daemon of Object.values(daemons)) daemon.thaw();
}

/** The rules that should have fired in an hour and did not. */
export function silentIn({ fires, seen }: PlayedHour): string[] {
  return fires.filter((name) => !seen.has(name));
}

function lineOf(hour: PlayedHour): string {
  const took = `${((hour.toMs - hour.fromMs) / 1_000).toFixed(0)} s`.padStart(6);
  const silent = silentIn(hour);
  const fired = hour.fires.filter((name) => hour.seen.has(name)).map((name) => name.replace('Spillway', ''));
  const parts = [
    ...(fired.length > 0 ? [`fired: ${fired.join(', ')}`] : []),
    ...(silent.length > 0 ? [`SILENT: ${silent.join(', ')}`] : []),
    ...(hour.problem === undefined ? [] : [`PROBLEM: ${hour.problem}`]),
  ];
  return `${took}  ${hour.name}${parts.length > 0 ? `\n        ${parts.join('; ')}` : ''}`;
}
