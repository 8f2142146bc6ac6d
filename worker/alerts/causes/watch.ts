import { clip, counted, inSeconds } from '../../../shared/base/text.ts';
import { utcTime } from '../../../shared/base/wall-time.ts';
import type { Alert } from '../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../shared/redis/keys.ts';
import { hostAndPid } from '../../../shared/state/process/process.ts';
import type { UncleanEnd } from '../../../shared/state/process/workers.ts';
import type { WatchFailure } from '../watch-failure.ts';
import type { Condition, Rules } from './words.ts';

/** Causes about the gateway itself: its processes, their clocks, the watch, the alerts, and data of other versions. */
export const WATCH = {
  'unclean-end': {
    severity: 'attention',
    title: 'Processes ended without a goodbye',
    todo: 'What they were answering runs again by itself. The log around that time says why: killed, out of memory, or an event loop that stood still.',
    endsBy: 'quiet',
    end: 'no more processes end that way.',
    namesEach: true,
  },
  clock: {
    severity: 'attention',
    title: 'Clocks differ',
    todo: 'Let NTP set the clocks of all machines.',
    endsBy: 'quiet',
    end: 'all clocks agree.',
  },
  'alert-channel': {
    severity: 'page',
    title: 'Alerts cannot be sent',
    todo: 'Check TELEGRAM_ALERT_CHAT_ID, and set ALERT_WEBHOOK_URL or ALERTMANAGER_URL as a second channel.',
    endsBy: 'watch',
    end: 'alerts are sent again.',
    follows: ['telegram', 'token'],
  },
  watcher: {
    severity: 'page',
    title: 'A part of the watch fails',
    todo: 'The log has the error. What it names goes unnoticed until it works again; everything else is watched.',
    endsBy: 'watch',
    end: 'the watch is whole again.',
  },
  'other-version': {
    severity: 'attention',
    title: 'Another version wrote what this one does not know',
    endsBy: 'fact',
  },
} satisfies Rules;

const WHERE_CHARS_MAX = 600;

/** The alert that a worker process was killed, ran out of memory or froze. */
export function uncleanEndAlert(end: UncleanEnd): Alert {
  const { host, pid } = hostAndPid(end.name);
  const lastSeen = utcTime(end.seenMs);
  const turns = (JSON.parse(end.turns) as [EntryId, ChatKey][]).map(([entry, chat]) => `chat ${chat}, entry ${entry}`);
  const why = end.where
    ? `its event loop stood still: ${clip(end.where, WHERE_CHARS_MAX)}`
    : 'killed, out of memory, or its machine went away';
  const activity = turns.length === 0 ? 'it answered nothing' : `it answered ${turns.join('; ')}`;
  return {
    cause: 'unclean-end',
    line: `Process ${pid} on ${host}, last seen ${lastSeen}: ${activity}`,
    text: `A process ended without a goodbye (${why}). What it was answering runs again.`,
  };
}

/** The alert that a process's clock differs from the clock of Redis. A negative `aheadMs` means behind. */
export function clockAlert(name: string, aheadMs: number): Alert {
  const { host, pid } = hostAndPid(name);
  const difference = `${inSeconds(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'}`;
  return {
    cause: 'clock',
    key: host,
    text: `The clock of process ${pid} on ${host} is ${difference} that of Redis. Messages that are tried again may be tried too early, or some seconds late.`,
  };
}

/** The condition that the operator's chat accepts no alerts. */
export function alertChannelAlert(lastsMs: number, why: string): Condition {
  return {
    cause: 'alert-channel',
    text: `Alerts cannot be sent: the operator's chat has taken none for ${inSeconds(lastsMs)} (${why}).`,
  };
}

/** The condition that parts of the watch fail. Only the log has the errors, since they may quote data. */
export function watcherCondition(failures: readonly WatchFailure[]): Condition {
  const failedParts = [...new Set(failures.map((failure) => failure.what))].sort().join(', ');
  const kinds = [...new Set(failures.map(({ error }) => (error instanceof Error ? error.name : 'unknown')))].join(', ');
  return {
    cause: 'watcher',
    level: failedParts,
    text: `A part of the watch fails: "${failedParts}" goes unnoticed (${kinds}).`,
  };
}

/** The alert that lanes hold messages that only another version can read. */
export function unreadableLanesAlert(messages: number): Alert {
  return {
    cause: 'other-version',
    key: 'lanes',
    text: `Lanes that this version does not know hold ${counted(messages, 'message')}. Until the version that filled them runs again, nothing in them is answered.`,
  };
}
