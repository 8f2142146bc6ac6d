import { utcTime } from '../../shared/base/utc-time.ts';
import type { ChatReport } from '../report/chat.ts';
import { whereOf } from '../report/place-words.ts';
import { counted, inWords, money } from '../report/words.ts';

/** The state of a chat in lines, and what can be done. Pure. */
export function chatLines(report: ChatReport, nowMs: number): string[] {
  const { chat, shard, waiting, outcomes, recoveries, today, deadLetters, reminders } = report;
  return [
    `Chat ${chat}, shard ${shard}${movedWords(report)}${pauseWords(report, nowMs)}`,
    `lane       ${counted(waiting, 'message')}${headWords(report, nowMs)}`,
    `session    ${sessionWords(report)}`,
    `today      ${counted(today.calls, 'call')}, ${today.inputTokens} tokens in, ${today.outputTokens} out, ${money(today.dollars)}${
      today.unpricedCalls > 0 ? `, ${today.unpricedCalls} calls without a price` : ''
    }`,
    `others     ${counted(deadLetters, 'dead letter')}, ${counted(reminders, 'reminder')} to come, ${recoveries} recoveries lately`,
    '',
    ...(outcomes.length === 0 ? ['No outcome lately.'] : ['Newest outcomes', ...outcomes.map(outcomeLine)]),
    '',
    'What can be done',
    ...commandsOf(report).map((command) => `  npm run cli -- ${command}`),
  ];
}

function movedWords({ movedTo, movedFrom }: ChatReport): string {
  if (movedTo !== undefined) return `, became the supergroup ${movedTo}`;
  return movedFrom === undefined ? '' : `, was the group ${movedFrom}`;
}

function pauseWords({ pause }: ChatReport, nowMs: number): string {
  if (pause === undefined) return '';
  return `: PAUSED for ${inWords(nowMs - pause.sinceMs)} by ${pause.by}${pause.why === '' ? '' : `: ${pause.why}`}`;
}

function headWords({ head }: ChatReport, nowMs: number): string {
  if (head === undefined) return '';
  return `; first ${head.entry}, accepted ${inWords(nowMs - head.acceptedMs)} ago: ${whereOf(head.place, nowMs)}`;
}

function sessionWords({ session }: ChatReport): string {
  if (session === undefined) return 'none yet';
  const { id, messages, bytes, tokens, sinceMs, compactedMs } = session;
  const since = sinceMs === undefined ? '' : `, since ${utcTime(sinceMs)}`;
  const compacted = compactedMs === undefined ? 'never compacted' : `compacted ${utcTime(compactedMs)}`;
  return `${id}: ${counted(messages, 'message')}, ${(bytes / 1e6).toFixed(2)} MB, ${tokens} tokens${since}, ${compacted}`;
}

function outcomeLine({ entry, outcome, reason, settledAtMs, attempts }: ChatReport['outcomes'][number]): string {
  const why = reason === undefined ? '' : ` (${reason})`;
  return `  ${utcTime(settledAtMs)}  ${entry}  ${outcome}${why}, ${counted(attempts, 'attempt')}`;
}

function commandsOf({ chat, head, pause, deadLetters }: ChatReport): string[] {
  return [
    ...(head === undefined ? [] : [`message ${head.entry}`, `cancel ${chat}`]),
    pause === undefined ? `pause ${chat}` : `resume${pause.chat === '*' ? '' : ` ${chat}`}`,
    ...(deadLetters > 0 ? [`dead list --chat ${chat}`] : []),
    `session show ${chat}`,
  ];
}
