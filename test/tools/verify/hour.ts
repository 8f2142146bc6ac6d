import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
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

/** Whether a call is one of a conversation in which a user said this. */
export function about({ body }: ClaudeCall, mark: string): boolean {
  return JSON.stringify(body.messages).includes(mark);
}

export const chatsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);
