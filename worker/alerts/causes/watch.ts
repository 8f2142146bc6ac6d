import { clip, counted, durationInWords } from '../../../shared/base/text.ts';
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
    title: 'Worker processes crashed or were killed',
    todo: 'The log around that time says why: killed, out of memory, or a blocked event loop.',
    endsBy: 'quiet',
    end: 'no more processes crashed.',
    namesEach: true,
  },
  clock: {
    severity: 'attention',
    title: 'The clocks of machines differ',
    todo: 'Synchronize the clocks of all machines with NTP.',
    endsBy: 'quiet',
    end: 'the clocks agree again.',
  },
  'alert-channel': {
    severity: 'page',
    title: 'Alerts cannot be sent',
    todo: 'Check TELEGRAM_ALERT_CHAT_ID. Set ALERT_WEBHOOK_URL or ALERTMANAGER_URL as a second channel.',
    endsBy: 'watch',
    end: 'alerts are sent again.',
    follows: ['telegram', 'token'],
  },
  watcher: {
    severity: 'page',
    title: 'Some trouble goes unnoticed: a check of the watchdog fails',
    todo: 'The log has the error. All other checks work.',
    endsBy: 'watch',
    end: 'all checks of the watchdog work again.',
  },
  'other-version': {
    severity: 'attention',
    title: 'Data of another version of Spillway is in Redis',
    todo: 'Run the same version everywhere.',
    endsBy: 'fact',
  },
} satisfies Rules;

const WHERE_CHARS_MAX = 600;

/** The alert that a worker process ended uncleanly: it was killed, ran out of memory or froze, or its machine went away. */
export function uncleanEndAlert(end: UncleanEnd): Alert {
  const { host, pid } = hostAndPid(end.name);
  const lastSeen = utcTime(end.seenMs);
  const turns = (JSON.parse(end.turns) as [EntryId, ChatKey][]).map(([entry, chat]) => `chat ${chat}, entry ${entry}`);
  const why = end.where
    ? `its event loop was blocked: ${clip(end.where, WHERE_CHARS_MAX)}`
    : 'killed, out of memory, or its machine went away';
  const activity = turns.length === 0 ? 'it was idle' : `it was answering ${turns.join('; ')}`;
  return {
    cause: 'unclean-end',
    line: `Process ${pid} on ${host}, last seen ${lastSeen}: ${activity}`,
    text: `A process crashed or was killed (${why}). Its messages are tried again.`,
  };
}

/** The alert that a process's clock differs from that of Redis. If `aheadMs` is negative, the process's clock is behind. */
export function clockAlert(name: string, aheadMs: number): Alert {
  const { host, pid } = hostAndPid(name);
  const difference = `${durationInWords(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'}`;
  return {
    cause: 'clock',
    key: host,
    text: `The clock of process ${pid} on ${host} is ${difference} that of Redis. Retries may come too early or too late.`,
  };
}

/** The condition that the operators' chat accepts no alerts. */
export function alertChannelAlert(lastsMs: number, why: string): Condition {
  return {
    cause: 'alert-channel',
    text: `The operators' chat has accepted no alert for ${durationInWords(lastsMs)} (${why}).`,
  };
}

/** The condition that parts of the watch fail. Only the log has the errors' messages, which may quote users' data. */
export function watcherCondition(failures: readonly WatchFailure[]): Condition {
  const failedParts = [...new Set(failures.map((failure) => failure.what))].sort().join(', ');
  const kinds = [...new Set(failures.map(({ error }) => (error instanceof Error ? error.name : 'unknown')))].join(', ');
  return {
    cause: 'watcher',
    level: failedParts,
    text: `The watchdog cannot check "${failedParts}" (${kinds}).`,
  };
}

/** The alert that lanes hold messages that only another version can read. */
export function unreadableLanesAlert(messages: number): Alert {
  return {
    cause: 'other-version',
    key: 'lanes',
    text: `Some waiting messages cannot be read by this version: ${counted(messages, 'message')}. Only the version that wrote them can answer.`,
  };
}
