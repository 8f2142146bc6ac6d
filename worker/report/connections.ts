import { utcTime } from '../../shared/base/utc-time.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { hostAndPid } from '../../shared/state/process/process.ts';
import { type ModelBreaker, readBreakers } from '../../shared/state/provider/provider.ts';
import { readTelegramPause, type TelegramPause } from '../../shared/state/telegram/telegram.ts';
import { alertsCheck, providerCheck, telegramCheck } from '../watch/readiness.ts';
import type { Snapshot } from '../watch/snapshot.ts';
import type { Fact, ReportSource } from './report.ts';
import { inWords, megabytes, percent } from './words.ts';

/** How one thing that the gateway needs fares, in words. */
export interface PartState {
  isWell: boolean;
  detail: string;
}

/** How what the gateway needs fares. */
export interface Connections {
  /** How receiving goes, and which process does it; `ageMs` is that of the last answer. */
  receiving: PartState & { ageMs?: number; by?: string };
  provider: PartState;
  /** What keeps calls back: from models that fail, and from a Telegram that is away. Closed where it is absent. */
  breakers: { models: readonly ModelBreaker[]; telegram?: TelegramPause };
  alerts: PartState;
  /** Why processes could not export spans or metrics lately. */
  telemetry: readonly string[];
  /** `share` is 0 to 1; absent where Redis has no limit. Volatile: it writes nothing to disk. */
  redis: { usedBytes: number; maxBytes: number; share?: number; takesWrites: boolean; isVolatile: boolean };
}

/** How the parts fare that a watchdog looks at. Pure. */
export function partsOf(now: Snapshot, by: string | undefined): Pick<Connections, 'receiving' | 'provider' | 'alerts'> {
  const stateOf = ({ ready, isDegraded, detail = '' }: ReturnType<typeof providerCheck>): PartState => ({
    isWell: ready && isDegraded !== true,
    detail,
  });
  const answeredMs = now.poll?.lastAnswerMs;
  return {
    receiving: {
      ...stateOf(telegramCheck(now)),
      ...(answeredMs !== undefined && { ageMs: Math.max(0, now.nowMs - answeredMs) }),
      ...(by !== undefined && { by: `${hostAndPid(by).host}, process ${hostAndPid(by).pid}` }),
    },
    provider: stateOf(providerCheck(now)),
    alerts: stateOf(alertsCheck(now)),
  };
}

/** Reads what keeps calls back. Contract: as at `ReportSource`. */
export async function readOpenBreakers(redis: ReportSource['redis'], nowMs: number): Promise<Connections['breakers']> {
  const [models, telegram] = await Promise.all([readBreakers(redis, keysOf(0), nowMs), readTelegramPause(redis)]);
  return { models, ...(telegram && { telegram }) };
}

/** Whether calls are kept back, since when, and when the next one is tried. */
function breakersFact({ models, telegram }: Connections['breakers'], nowMs: number): Fact {
  const wordsOf = (name: string, { sinceMs, untilMs }: TelegramPause) =>
    `${name}: open since ${utcTime(sinceMs)}, next try ${untilMs <= nowMs ? 'now' : `in ${inWords(untilMs - nowMs)}`}`;
  const open = [
    ...models.map((each) => wordsOf(each.model, each)),
    ...(telegram === undefined ? [] : [wordsOf('Telegram', telegram)]),
  ];
  return { name: 'Breakers', value: open.join('; ') || 'closed', tone: open.length > 0 ? 'bad' : 'good' };
}

/** The state of each connection, in words. Pure. */
export function connectionFacts(connections: Connections, nowMs: number): Fact[] {
  const { receiving, provider, breakers, alerts, telemetry, redis } = connections;
  const { usedBytes, maxBytes, share, takesWrites, isVolatile } = redis;
  const room = share === undefined ? 'without a limit' : `of ${megabytes(maxBytes)}, ${percent(share)}`;
  const state = takesWrites ? 'takes writes' : 'TAKES NO WRITES';
  const detail = `${megabytes(usedBytes)} ${room}; ${state}${isVolatile ? '; writes nothing to disk' : ''}`;
  const by = receiving.by === undefined ? '' : `; by ${receiving.by}`;
  const fact = (name: string, { isWell, detail: value }: PartState): Fact => ({
    name,
    value,
    tone: isWell ? 'good' : 'bad',
  });
  return [
    fact('Receiving', { ...receiving, detail: `${receiving.detail}${by}` }),
    fact('Model', provider),
    breakersFact(breakers, nowMs),
    fact('Alerts', alerts),
    fact('Redis', { isWell: takesWrites, detail }),
    ...telemetry.map((detail) => fact('Telemetry', { isWell: false, detail })),
  ];
}
