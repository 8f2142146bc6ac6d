import type { ReadinessPart } from '../../shared/app/health.ts';
import { durationOf } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import type { Pause } from '../../shared/state/lane/stops.ts';
import { traceUrl } from '../alerts/message.ts';
import type { MessageLocation } from './message-location.ts';
import type { Piece } from './report.ts';

const UNITS = { second: 's', minute: 'min', hour: 'h', day: 'days' } as const;

/** A rounded duration with a short unit: `5 min`. Pure. */
export function inWords(ms: number): string {
  const { count, unit } = durationOf(Math.max(0, ms));
  return `${count} ${UNITS[unit]}`;
}

/** An amount in dollars, with four decimals below a dollar, since a message costs tenths of a cent. Pure. */
export function money(dollars: number): string {
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / (1024 * 1024))} MB`;
}

export function percent(part: number, whole = 1): string {
  return `${whole === 0 ? 0 : Math.round((part / whole) * 100)} %`;
}

/** Whether a part of the gateway works, by its readiness check, and the part's state in words. Pure. */
export function stateOf({ ready, isDegraded, detail = '' }: Awaited<ReturnType<ReadinessPart['check']>>) {
  return { isWell: ready && isDegraded !== true, detail };
}

export function because(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`;
}

export function pausedWords({ by, sinceMs, why }: Pause, nowMs: number): string {
  return `PAUSED by ${by} for ${inWords(nowMs - sinceMs)}${why === '' ? '' : `: ${why}`}`;
}

/** The word "Trace" and a trace id. The id is a link if there is a URL template for traces. Pure. */
export function traceText(template: string | undefined, traceId: string): Piece[] {
  const hasPage = template !== undefined && traceId !== '';
  return ['Trace ', hasPage ? { href: traceUrl(template, traceId), text: traceId } : traceId || 'none'];
}

export function whereOf(place: MessageLocation, nowMs: number): string {
  switch (place.at) {
    case 'stream':
      return 'accepted, but no worker has read it yet';
    case 'lane':
      return `waiting; messages ahead of it in its chat: ${place.position}, first ${place.behind}`;
    case 'queue':
      return 'next in its chat, waiting for a worker';
    case 'parked':
      return `waiting for somebody to press a button or to write, until ${utcTime(place.untilMs)}`;
    case 'no job':
      return 'next in its chat; a worker gets it within seconds';
    case 'delayed':
      return `put off${because(place.reason)}, next try ${whenOf(place.untilMs, nowMs)}`;
    case 'running':
      return `${place.step}, attempt ${place.attempt}${place.sinceMs === undefined ? '' : `, for ${inWords(nowMs - place.sinceMs)}`}`;
  }
}

export function whenOf(atMs: number, nowMs: number): string {
  return atMs <= nowMs ? 'now' : `in ${inWords(atMs - nowMs)} (${utcTime(atMs)})`;
}
