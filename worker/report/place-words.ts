import { utcTime } from '../../shared/base/utc-time.ts';
import type { Place } from './place.ts';
import { inWords } from './words.ts';

/** Where a message is, in words. Pure. */
export function whereOf(place: Place, nowMs: number): string {
  switch (place.at) {
    case 'stream':
      return 'accepted, and not in its lane yet: no dispatcher has read it';
    case 'lane':
      return `waits in its lane, ${place.position} before it, the first is ${place.behind}`;
    case 'queue':
      return 'first of its lane, and its job waits for a worker';
    case 'no job':
      return 'first of its lane without a job: the reconciler makes one within seconds';
    case 'delayed':
      return `put off${place.reason === undefined ? '' : ` (${place.reason})`}, next try ${whenOf(place.untilMs, nowMs)}`;
    case 'running':
      return `${place.step}, attempt ${place.attempt}${place.sinceMs === undefined ? '' : `, for ${inWords(nowMs - place.sinceMs)}`}`;
  }
}

function whenOf(atMs: number, nowMs: number): string {
  return atMs <= nowMs ? 'now' : `in ${inWords(atMs - nowMs)} (${utcTime(atMs)})`;
}
