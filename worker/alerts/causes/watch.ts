import { clip, counted, inSeconds } from '../../../shared/base/text.ts';
import { utcTime } from '../../../shared/base/wall-time.ts';
import type { Alert } from '../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../shared/redis/keys.ts';
import { hostAndPid } from '../../../shared/state/process/process.ts';
import type { UncleanEnd } from '../../../shared/state/process/workers.ts';
import type { WatchFailure } from '../watch-failure.ts';
import type { Condition, Rules } from './words.ts';

/** Causes that concern those who run and watch: processes, the watch itself, and other versions of it. */
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

/** A worker process that was killed, ran out of memory or stood still. */
export function uncleanEndAlert(end: UncleanEnd): Alert {
  const { host, pid } = hostAndPid(end.name);
  const seen = utcTime(end.seenMs);
  const turns = (JSON.parse(end.turns) as [EntryId, ChatKey][]).map(([entry, chat]) => `chat ${chat}, entry ${entry}`);
  const why = end.where
    ? `its event loop stood still: ${clip(end.where, WHERE_CHARS_MAX)}`
    : 'killed, out of memory, or its machine went away';
  const running = turns.length === 0 ? 'it answered nothing' : `it answered ${turns.join('; ')}`;
  return {
    cause: 'unclean-end',
    line: `Process ${pid} on ${host}, last seen ${seen}: ${running}`,
    text: `A process ended without a goodbye (${why}). What it was answering runs again.`,
  };
}

/** A process whose clock differs from that of Redis; below 0 it is behind. */
export function clockAlert(name: string, aheadMs: number): Alert {
  const { host, pid } = hostAndPid(name);
  const is = `${inSeconds(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'}`;
  return {
    cause: 'clock',
    key: host,
    text: `The clock of process ${pid} on ${host} is ${is} that of Redis. Messages that are tried again may be tried too early, or some seconds late.`,
  };
}

/** A channel that takes no alerts. */
export function alertChannelAlert(lastsMs: number, why: string): Condition {
  return {
    cause: 'alert-channel',
    text: `Alerts cannot be sent: the operator's chat has taken none for ${inSeconds(lastsMs)} (${why}).`,
  };
}

/** The incident of a watch of which parts fail; only the log has the errors, since they may quote data. */
export function watcherCondition(failed: readonly WatchFailure[]): Condition {
  const what = [...new Set(failed.map((failure) => failure.what))].sort().join(', ');
  const kinds = [...new Set(failed.map(({ error }) => (error instanceof Error ? error.name : 'unknown')))].join(', ');
  return {
    cause: 'watcher',
    level: what,
    text: `A part of the watch fails: "${what}" goes unnoticed (${kinds}).`,
  };
}

/** Messages in lanes that only another version can read. */
export function leftLanesAlert(messages: number): Alert {
  return {
    cause: 'other-version',
    key: 'lanes',
    text: `Lanes that this version does not know hold ${counted(messages, 'message')}. Until the version that filled them runs again, nothing in them is answered.`,
  };
}
