import { utcTime } from '../../shared/base/utc-time.ts';
import type { MessageReport, Remedy } from './message.ts';
import { type Action, chatName, type Report, type Section, type Verdict } from './report.ts';
import { because, inWords, whereOf } from './words.ts';

/** The optional parts of a report on a message. */
export interface MessageExtras {
  /** The words of the message; `hidden` where the reader may not see them, `undefined` where they are not kept. */
  content?: { text: string | 'hidden' | undefined };
  /** The name of its dead letter, after its shard where there are several. */
  letterName?: string;
}

/** The life of a message: where it is now, its timeline, and what can be done. Pure. */
export function messageReport(
  report: MessageReport,
  nowMs: number,
  { content, letterName }: MessageExtras = {},
): Report {
  const { entry, chat, traceId, kind, timeline, acceptedMs, turn, outcome } = report;
  const recoveries = turn?.recoveries ?? outcome?.recoveries ?? 0;
  return {
    title: `Message ${entry}`,
    nowMs,
    verdict: verdictOf(report, nowMs),
    sections: [
      {
        facts: [
          { name: 'Chat', value: chatName(chat), ...(kind !== undefined && { note: kind }) },
          { name: 'Accepted', value: { atMs: acceptedMs }, note: utcTime(acceptedMs) },
          { name: 'Attempt', value: turn?.attempt ?? outcome?.attempts ?? 0, note: `${recoveries} recoveries` },
        ],
      },
      { title: 'Timeline', timeline: { fromMs: acceptedMs, steps: timeline } },
      ...(content === undefined ? [] : [contentSection(content)]),
      { intro: `Trace ${traceId || 'none'}` },
    ],
    actions: report.can.map((remedy) =>
      actionOf(remedy, { ...report, ...(letterName !== undefined && { letter: letterName }) }),
    ),
  };
}

/** The exact command of a remedy. */
function actionOf(remedy: Remedy, { entry, chat, letter, pause }: MessageReport): Action {
  const commands: Record<Remedy, string> = {
    cancel: `cancel ${entry}`,
    retry: `retry ${entry}`,
    resume: pause?.chat === '*' ? 'resume' : `resume ${chat}`,
    'show chat': `chat ${chat}`,
    'show letter': `dead show ${letter ?? entry}`,
  };
  return { command: commands[remedy], ...(remedy === 'retry' && letter !== undefined && { letter }) };
}

function verdictOf({ place, outcome, pause, letter }: MessageReport, nowMs: number): Verdict {
  if (outcome !== undefined) {
    const tone = outcome.outcome === 'failed' || outcome.outcome === 'undeliverable' ? 'bad' : 'good';
    const kept = letter === undefined ? '' : `; kept as dead letter ${letter}`;
    return {
      tone,
      reason: ['Ended ', { atMs: outcome.settledAtMs }, `: ${outcome.outcome}${because(outcome.reason)}${kept}`],
    };
  }
  const paused = pause === undefined ? '' : `; PAUSED by ${pause.by} for ${inWords(nowMs - pause.sinceMs)}`;
  const reason = place === undefined ? 'Where it is, is not known.' : `Now: ${whereOf(place, nowMs)}${paused}`;
  return { tone: 'plain', reason };
}

function contentSection({ text }: NonNullable<MessageExtras['content']>): Section {
  if (text === 'hidden') return { title: 'Content', empty: 'Not shown: LOG_CONTENT is off.' };
  return text === undefined ? { title: 'Content', empty: 'No longer stored.' } : { title: 'Content', quote: text };
}
