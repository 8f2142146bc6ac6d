import { parseChatKey } from '../../shared/redis/keys.ts';
import type { LetterFilter } from '../report/dead-letters.ts';
import { UsageError } from './terminal.ts';

/** The options with which an operator says which dead letters are meant. */
export interface FilterOptions {
  chat?: string;
  reason?: string;
  since?: string;
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3600_000, d: 24 * 3600_000 } as const;

/** The filter that the options state. Throws `UsageError` for a chat or a time that is none. Pure. */
export function filterOf({ chat, reason, since }: FilterOptions, nowMs: number): LetterFilter {
  const key = chat === undefined ? undefined : parseChatKey(chat)?.chat;
  if (chat !== undefined && key === undefined) throw new UsageError(`--chat is the id of a chat, and not "${chat}".`);
  return {
    ...(key !== undefined && { chat: key }),
    ...(reason !== undefined && { reason }),
    ...(since !== undefined && { sinceMs: sinceMsOf(since, nowMs) }),
  };
}

/** A duration back from now, such as `90m`, or an ISO time. */
function sinceMsOf(text: string, nowMs: number): number {
  const [, number, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return nowMs - Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
  const atMs = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) throw new UsageError(`--since is 90m, 2h, 3d or an ISO time, and not "${text}".`);
  return atMs;
}
