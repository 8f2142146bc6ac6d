import { counted, durationInWords } from '../../../shared/base/text.ts';
import { type Alert, type Place, whereOf } from '../../../shared/flow/alert.ts';
import type { FailureReason } from '../../../shared/flow/failure.ts';
import type { ChatKey, EntryId } from '../../../shared/redis/keys.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { PROVIDER_SAID, providerTroubleOf } from '../../model/errors/failure.ts';
import type { Condition, Rules } from './words.ts';

/** Causes that leave users without answers. */
const OUTAGES = ['provider', 'fixed-parts', 'telegram', 'token', 'memory', 'persistence', 'blob-store'] as const;

/** Causes about messages without an answer: waiting or failed messages, and dead letters. */
export const UNANSWERED = {
  unanswered: {
    severity: 'page',
    title: 'Messages have waited too long for an answer',
    todo: '/status says what holds them up. /message with the entry below shows where the oldest one is.',
    endsBy: 'watch',
    end: 'messages are answered again.',
    follows: [...OUTAGES, 'idle'],
    acts: ['retry', 'pause', 'cancel'],
  },
  paused: {
    severity: 'attention',
    title: 'Messages wait in paused chats',
    todo: '/status says who paused which chat and why. “Resume” ends all pauses; "npm run cli -- resume <chat>" ends one.',
    endsBy: 'watch',
    end: 'no message waits in a paused chat.',
    acts: ['resume-all'],
  },
  idle: {
    severity: 'page',
    title: 'Nobody gets an answer: no worker picks up messages',
    todo: 'Start the worker, or restart it if it is running.',
    endsBy: 'watch',
    end: 'a worker picks up messages again.',
    follows: ['memory', 'persistence'],
  },
  'gave-up': {
    severity: 'attention',
    title: 'Messages could not be answered',
    todo: '/dead lists them; “Replay failed” replays them.',
    endsBy: 'quiet',
    end: 'no more messages had to be given up.',
    follows: OUTAGES,
    acts: ['replay', 'close'],
  },
  failed: {
    severity: 'attention',
    title: 'Messages failed',
    todo: '/dead lists them; “Replay failed” replays them.',
    endsBy: 'quiet',
    end: 'no more messages failed.',
    follows: OUTAGES,
    acts: ['replay', 'close'],
  },
  undecodable: {
    severity: 'attention',
    title: 'Accepted messages could not be read',
    todo: 'Find out what else writes to the inbound stream.',
    endsBy: 'quiet',
    end: 'no more unreadable entries were found.',
    namesEach: true,
  },
  'dead-letters': {
    severity: 'attention',
    title: 'Failed messages pile up',
    todo: '/dead lists them. “Replay failed” replays them all; "npm run cli -- dead purge <id>" removes one.',
    endsBy: 'watch',
    end: 'few failed messages are left.',
    follows: [...OUTAGES, 'gave-up', 'failed'],
    acts: ['replay'],
    levels: { 'nearly full': { follows: [] }, full: { severity: 'page', follows: [] } },
  },
} satisfies Rules;

/** The alert that a recovery ended without an answer. */
export function gaveUpAlert(turn: Turn, reason: string, fault: 'size' | 'message' | 'output'): Alert {
  const extent = turn.stage === 'none' || turn.stage === 'compacted' ? '' : ', even in a fresh session';
  const what =
    fault === 'size'
      ? `the request does not fit the model${extent} (${reason}). Compare the system prompt with the model's window`
      : `the model rejects it${extent} (${reason}). It was removed from the conversation`;
  const cause = fault === 'output' ? `the model's thinking used up its whole output three times (${reason})` : what;
  return {
    cause: 'gave-up',
    ...whereOf(turn),
    text: `A message could not be answered: ${cause}. The user was notified.`,
  };
}

/** The alert that a message failed. If the endpoint fails for all chats, the alert belongs to the incident `provider`. */
export function failedAlert(turn: Turn, reason: string, detail: string): Alert {
  const trouble = providerTroubleOf(reason as FailureReason);
  const why = trouble === undefined ? '' : `: the model endpoint ${PROVIDER_SAID[trouble]}`;
  return {
    ...(trouble === undefined ? { cause: 'failed' as const } : { cause: 'provider' as const, level: trouble }),
    ...whereOf(turn),
    text: `A message failed (${reason}; ${detail})${why}. The user was notified.`,
  };
}

/** The alert that a message failed because every attempt threw an error, e.g. because of a bug or damaged data. */
export function unendedAlert(where: Place & { traceparent: string }, detail: string): Alert {
  return {
    cause: 'failed',
    ...whereOf(where),
    text: `A message failed (internal_error; ${detail}) on every attempt. It is kept as a dead letter.`,
  };
}

/** The alert that an entry of the inbound stream cannot be read. */
export function undecodableAlert(entry: EntryId): Alert {
  return {
    cause: 'undecodable',
    entry,
    line: entry,
    text: 'An entry of the inbound stream cannot be read, so its sender gets no answer. It is kept as a dead letter.',
  };
}

/** The level at which some shard has its maximum number of dead letters. From then on, new letters displace the oldest. */
export const LETTERS_FULL = 'full';

/** The operator is warned when the dead letters of a shard reach this share of its limit. */
export const LETTERS_SHARE = 0.8;

/** The condition that dead letters pile up. `fullest`: how many the fullest shard has; `max`: how many each shard may have. */
export function deadLettersAlert(pile: { letters: number; fullest: number; max: number; dropped: number }): Condition {
  const { letters, fullest, max, dropped } = pile;
  const [level, more] =
    fullest >= max
      ? [LETTERS_FULL, `Each further failed message removes the oldest for good; removed so far: ${dropped}.`]
      : fullest >= max * LETTERS_SHARE
        ? ['nearly full', 'When it is full, each further failed message removes the oldest for good.']
        : ['', ''];
  const text = `${counted(letters, 'failed message')} can be replayed or removed.`;
  if (level === '') return { cause: 'dead-letters', text, messages: letters };
  const fill = `A shard holds ${fullest} of ${max} at most. ${more}`;
  return { cause: 'dead-letters', level, text: `${text} ${fill}`, messages: letters };
}

/** The condition that messages have waited too long for an outcome. `chat`, `entry` and `traceId`: of the oldest one. */
export function unansweredAlert(backlog: {
  chat: ChatKey;
  entry: EntryId;
  traceId: string;
  acceptedMs: number;
  ageMs: number;
  messages: number;
  chats: number;
  waiting: number;
}): Condition {
  const { chat, entry, traceId, acceptedMs, ageMs, messages, chats, waiting } = backlog;
  return {
    cause: 'unanswered',
    chat,
    entry,
    text: `The oldest message has waited ${durationInWords(ageMs)}. Waiting in all: ${counted(waiting, 'message')}.`,
    traceId,
    messages,
    chats,
    sinceMs: acceptedMs,
  };
}

function extentInWords(messages: number, chats: number): string {
  return `${counted(messages, 'message')} of ${counted(chats, 'chat')}`;
}

/** The condition that messages wait in paused chats. */
export function pausedAlert(messages: number, chats: number): Condition {
  return {
    cause: 'paused',
    text: `An operator has paused chats with waiting messages: ${extentInWords(messages, chats)}.`,
    messages,
    chats,
  };
}

/** The condition that jobs wait and no worker runs any. */
export function idleAlert(jobsWaiting: number, shards: readonly number[]): Condition {
  return {
    cause: 'idle',
    text: `Waiting: ${counted(jobsWaiting, 'job')} of shard ${shards.join(', ')}. No worker is picking up jobs.`,
    messages: jobsWaiting,
  };
}
