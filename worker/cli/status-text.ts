import { utcTime } from '../../shared/base/utc-time.ts';
import { EVERY_CHAT, type Pause } from '../../shared/state/lane/pauses.ts';
import { percentOf, spentInWords } from '../budget/limit.ts';
import type { RunningTurn } from '../report/running.ts';
import type { Status } from '../report/status.ts';
import { counted, inWords } from '../report/words.ts';

const RUNNING_SHOWN = 10;
const INCIDENTS_SHOWN = 8;
const PAUSES_SHOWN = 5;
const MEGABYTE = 1024 * 1024;

/** The state of everything as one screen: the first line says its colour, and why. Pure. */
export function statusLines(status: Status): string[] {
  const { ledger, jobs, workers, receiving, provider, alerts, deadLetters } = status;
  return [
    ...headLines(status),
    '',
    row('messages', `${ledger.pending} pending of ${ledger.accepted} accepted; ${oldestOf(status)}`),
    row('lanes', lanesOf(status)),
    row('jobs', `${jobs.active} running, ${jobs.waiting} waiting, ${jobs.delayed} put off`),
    row('workers', `${workers} alive`),
    row('receiving', `${receiving.detail}${receiving.by === undefined ? '' : `; by ${receiving.by}`}`),
    row('model', provider.detail),
    row('alerts', alerts.detail),
    row('redis', memoryOf(status.redis)),
    row('dead letters', String(deadLetters)),
    ...status.budgets.map((each) =>
      row('budget', `${each.limit.setting}: ${spentInWords(each)}, ${percentOf(each)} %`),
    ),
    ...pauseLines(status),
    ...runningLines(status),
    ...incidentLines(status),
  ];
}

function headLines({ colour, troubles, atMs }: Status): string[] {
  const [worst, ...others] = troubles;
  if (worst === undefined && colour === 'starting') return [`STARTING  it was started just now  ${utcTime(atMs)}`];
  if (worst === undefined) return [`GREEN  all is well  ${utcTime(atMs)}`];
  return [
    `${colour.toUpperCase()}  ${worst.text}`,
    `     ${`${worst.todo} Runbook: ${worst.cause}`.trim()}`,
    ...others.map(({ text, cause }) => `also ${text} Runbook: ${cause}`),
    `     ${utcTime(atMs)}`,
  ];
}

function oldestOf({ oldest, atMs }: Status): string {
  if (oldest === undefined) return 'none is unanswered';
  return `the oldest unanswered for ${inWords(atMs - oldest.acceptedMs)} (${oldest.entry}, chat ${oldest.lane})`;
}

function lanesOf({ lanes: { count, waiting, deepest } }: Status): string {
  const [first] = deepest;
  const depth = first === undefined ? '' : `; the deepest: ${deepest.map(depthOf).join(', ')}`;
  return `${count} with messages, ${waiting} in which some wait${depth}`;
}

function depthOf({ lane, messages }: Status['lanes']['deepest'][number]): string {
  return `chat ${lane} ${messages}`;
}

function memoryOf({ usedBytes, maxBytes, share, takesWrites, isVolatile }: Status['redis']): string {
  const used = `${Math.round(usedBytes / MEGABYTE)} MB`;
  const room = share === undefined ? 'without a limit' : `of ${Math.round(maxBytes / MEGABYTE)} MB, ${percent(share)}`;
  const kept = isVolatile ? '; writes nothing to disk' : '';
  return `${used} ${room}; ${takesWrites ? 'takes writes' : 'TAKES NO WRITES'}${kept}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function pauseLines({ pauses, atMs }: Status): string[] {
  const line = ({ chat, sinceMs, by, why }: Pause) =>
    row('paused', `${whomOf(chat)} for ${inWords(atMs - sinceMs)} by ${by}${why === '' ? '' : `: ${why}`}`);
  return [...pauses.slice(0, PAUSES_SHOWN).map(line), ...more(pauses.length - PAUSES_SHOWN, 'pause')];
}

function whomOf(chat: Pause['chat']): string {
  return chat === EVERY_CHAT ? 'every chat' : `chat ${chat}`;
}

function runningLines({ running, atMs, jobs }: Status): string[] {
  if (running.length === 0) return [];
  const line = ({ chat, entry, attempt, step, sinceMs }: RunningTurn) => {
    const since = sinceMs === undefined ? 'just begun' : `for ${inWords(atMs - sinceMs)}`;
    return `  ${entry}  chat ${chat}  ${step}, ${since}, attempt ${attempt}`;
  };
  const shown = running.slice(0, RUNNING_SHOWN);
  return ['', 'Turns in flight', ...shown.map(line), ...more(jobs.active - shown.length, 'turn')];
}

function incidentLines({ incidents, atMs }: Status): string[] {
  const open = incidents.filter(({ isOpen }) => isOpen);
  if (open.length === 0) return [];
  const lines = open
    .slice(0, INCIDENTS_SHOWN)
    .map(({ name, title, sinceMs, count }) => `  ${name}  ${title}, for ${inWords(atMs - sinceMs)}, ${count} times`);
  return ['', 'Open incidents', ...lines, ...more(open.length - INCIDENTS_SHOWN, 'incident')];
}

function more(count: number, noun: string): string[] {
  return count > 0 ? [`  and ${counted(count, `more ${noun}`)}`] : [];
}

function row(name: string, text: string): string {
  return `${name.padEnd(13)}${text}`;
}
