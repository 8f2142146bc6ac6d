import { type Context, createContextKey } from '@opentelemetry/api';
import type { GaugeReading } from './meters.ts';
import type { METRIC } from './telemetry.ts';

/** An attempt that runs in this process. */
interface RunningTurn {
  startedMs: number;
  /** The spans that it is in, the innermost last. */
  steps: string[];
}

/** The attempts that run in this process, and where each of them is. */
export interface RunningTurns {
  /** The context of an attempt that begins, and what ends it. */
  begin(ctx: Context, name: string): { ctx: Context; end(): void };
  /** Notes that the attempt of a context, if there is one, is in a step. Returns what ends the step. */
  enter(ctx: Context, step: string): () => void;
  read(names: typeof METRIC): GaugeReading[];
}

const RUNNING = createContextKey('spillway running turn');
const MS_PER_S = 1_000;
const NOTHING = (): void => {};

/** None yet. */
export function createRunningTurns(): RunningTurns {
  const running = new Set<RunningTurn>();
  /** Steps that were seen stay visible, at 0: a gauge that disappears shows its last value for minutes. */
  const known = new Set<string>();
  return {
    begin(ctx, name) {
      const turn: RunningTurn = { startedMs: performance.now(), steps: [name] };
      running.add(turn);
      known.add(name);
      return { ctx: ctx.setValue(RUNNING, turn), end: () => void running.delete(turn) };
    },
    enter(ctx, step) {
      const turn = ctx.getValue(RUNNING) as RunningTurn | undefined;
      if (turn === undefined) return NOTHING;
      known.add(step);
      turn.steps.push(step);
      return () => void turn.steps.splice(turn.steps.lastIndexOf(step), 1);
    },
    read({ turns, turnAge }) {
      const counts = new Map([...known].map((step) => [step, 0]));
      for (const { steps } of running) {
        const step = steps.at(-1) ?? '';
        counts.set(step, (counts.get(step) ?? 0) + 1);
      }
      const nowMs = performance.now();
      const oldestMs = Math.min(nowMs, ...[...running].map(({ startedMs }) => startedMs));
      return [
        ...[...counts].map(([step, value]) => ({ metric: turns, value, attributes: { step } })),
        { metric: turnAge, value: (nowMs - oldestMs) / MS_PER_S },
      ];
    },
  };
}
