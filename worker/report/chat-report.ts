import { utcTime } from '../../shared/base/utc-time.ts';
import type { ChatReport } from './chat.ts';
import { chatName, listSection, messageName, type Piece, type Report, type Verdict } from './report.ts';
import { counted, inWords, money, thousands, whereOf } from './words.ts';

/** The state of one chat, and what can be done. Pure. */
export function chatReport(report: ChatReport, nowMs: number): Report {
  const { chat, shard, waiting, outcomes, recoveries, today, deadLetters, reminders } = report;
  const tokens = `${thousands(today.inputTokens)} tokens in, ${thousands(today.outputTokens)} out`;
  const unpriced = today.unpricedCalls > 0 ? `, ${today.unpricedCalls} without a price` : '';
  const rows = outcomes.map(({ entry, outcome, reason, attempts, settledAtMs }) => [
    messageName(entry),
    outcome,
    reason ?? '–',
    attempts,
    { atMs: settledAtMs },
  ]);
  const table = { columns: ['Message', 'Outcome', 'Reason', 'Attempts', 'Ended'], rows };
  return {
    title: [`Chat ${chat}, shard ${shard}`, ...movedWords(report)],
    nowMs,
    verdict: laneVerdict(report, nowMs),
    sections: [
      {
        facts: [
          { name: 'Waiting', value: waiting, note: 'including the one being answered' },
          { name: 'Today', value: money(today.dollars), note: `${counted(today.calls, 'call')}${unpriced}, ${tokens}` },
          {
            name: 'Dead letters',
            value: { of: 'letters', id: chat, text: deadLetters },
            note: `${recoveries} recoveries recently`,
          },
          { name: 'Reminders', value: reminders, note: 'to come' },
        ],
      },
      { title: 'Session', ...sessionWords(report) },
      listSection('Newest outcomes', { table }, 'None recently.'),
    ],
    actions: commandsOf(report).map((command) => ({ command })),
  };
}

function movedWords({ movedTo, movedFrom }: ChatReport): Piece[] {
  if (movedTo !== undefined) return [', became the supergroup ', chatName(movedTo)];
  return movedFrom === undefined ? [] : [', was the group ', chatName(movedFrom)];
}

function laneVerdict({ head, pause }: ChatReport, nowMs: number): Verdict {
  const why = pause?.why ? `: ${pause.why}` : '';
  const more = pause === undefined ? [] : [`PAUSED by ${pause.by} for ${inWords(nowMs - pause.sinceMs)}${why}`];
  if (head === undefined) return { tone: 'plain', reason: 'No message is waiting.', more };
  const accepted: Piece[] = [', accepted ', { atMs: head.acceptedMs }];
  return {
    tone: 'plain',
    reason: ['First: ', messageName(head.entry), ...accepted, `: ${whereOf(head.place, nowMs)}`],
    more,
  };
}

function sessionWords({ session }: ChatReport): { empty: string } | { intro: string } {
  if (session === undefined) return { empty: 'None yet.' };
  const { id, messages, bytes, tokens, sinceMs, compactedMs } = session;
  const since = sinceMs === undefined ? '' : `, since ${utcTime(sinceMs)}`;
  const compacted = compactedMs === undefined ? 'never compacted' : `compacted ${utcTime(compactedMs)}`;
  const size = `${counted(messages, 'message')}, ${(bytes / 1e6).toFixed(2)} MB, ${thousands(tokens)} tokens`;
  return { intro: `${id}: ${size}${since}, ${compacted}` };
}

function commandsOf({ chat, head, pause, deadLetters }: ChatReport): string[] {
  return [
    ...(head === undefined ? [] : [`message ${head.entry}`, `cancel ${chat}`]),
    pause === undefined ? `pause ${chat}` : `resume${pause.chat === '*' ? '' : ` ${chat}`}`,
    ...(deadLetters > 0 ? [`dead list --chat ${chat}`] : []),
    `session show ${chat}`,
  ];
}
