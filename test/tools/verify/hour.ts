import type { Daemon } from './daemon.ts';
import type { Ground } from './ground.ts';
import type { Jaeger } from './jaeger.ts';
import type { ToolName } from './tool.ts';

/** What an hour of the day can hurt. */
export interface Stage {
  ground: Ground;
  daemons: Readonly<Partial<Record<ToolName, Daemon>>>;
  jaeger: Jaeger | undefined;
  /** Resolves when all of these alerts fire, or when they have had their time. */
  untilFiring(names: readonly string[]): Promise<void>;
}

/** One part of the day: a kind of trouble, and the rules that must see it. */
export interface Hour {
  name: string;
  /** Rules that must fire during it, or soon after. */
  fires: readonly string[];
  /** Does it, waits for what must fire, and puts it right again. */
  play(stage: Stage): Promise<void>;
}
