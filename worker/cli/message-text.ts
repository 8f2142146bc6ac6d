import { utcTime } from '../../shared/base/utc-time.ts';
import type { MessageReport, Remedy } from '../report/message.ts';
import { whereOf } from '../report/place-words.ts';
import { inWords } from '../report/words.ts';

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

function stamp(atMs: number, fromMs: number): string {
  return `${utcTime(atMs)} ${`+${inWords(atMs - fromMs)}`.padStart(10)}`;
}
