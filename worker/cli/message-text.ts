import type { MessageReport, Remedy } from '../report/message.ts';
import { clock, inWords } from '../report/words.ts';

/** The life of a message in lines: where it is now first, then its timeline, then what can be done. Pure. */
export function messageLines(report: MessageReport, nowMs: number): string[] {
  const { entry, chat, traceId, kind, timeline, acceptedMs } = report;
  return [
    `Message ${entry} of chat ${chat}${kind === undefined ? '' : ` (${kind})`}, trace ${traceId || 'none'}`,
    placeLine(report, nowMs),
    '',
    ...timeline.map(({ atMs, text }) => `  ${atMs === undefined ? ' '.repeat(34) : stamp(atMs, acceptedMs)}  ${text}`),
    '',
    'What can be done',
    ...report.can.map((remedy) => `  ${commandOf(remedy, report)}`),
  ];
}

/** The exact command of a remedy. Pure. */
export function commandOf(remedy: Remedy, { entry, chat, letter, pause }: MessageReport): string {
  const whom = pause?.chat === '*' ? '' : ` ${chat}`;
  const commands: Record<Remedy, string> = {
    cancel: `cancel ${entry}`,
    retry: `retry ${entry}`,
    resume: `resume${whom}`,
    'show chat': `chat ${chat}`,
    'show letter': `dead show ${letter ?? entry}`,
  };
  return `npm run cli -- ${commands[remedy]}`;
}

function placeLine({ place, outcome, pause, letter }: MessageReport, nowMs: number): string {
  if (outcome !== undefined) {
    const why = outcome.reason === undefined ? '' : ` (${outcome.reason})`;
    const kept = letter === undefined ? '' : `; kept as dead letter ${letter}`;
    return `Ended ${inWords(nowMs - outcome.settledAtMs)} ago: ${outcome.outcome}${why}${kept}`;
  }
  if (place === undefined) return 'Nothing says where it is.';
  const rests = pause === undefined ? '' : `; PAUSED by ${pause.by} ${inWords(nowMs - pause.sinceMs)} ago`;
  return `Now: ${whereOf(place, nowMs)}${rests}`;
}

/** Where a message is, in words. Pure. */
export function whereOf(place: NonNullable<MessageReport['place']>, nowMs: number): string {
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
  return atMs <= nowMs ? 'now' : `in ${inWords(atMs - nowMs)} (${clock(atMs)})`;
}

function stamp(atMs: number, fromMs: number): string {
  return `${clock(atMs)} ${`+${inWords(atMs - fromMs)}`.padStart(10)}`;
}
