import { traceIdOf } from '../../../shared/base/telemetry.ts';
import { counted } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../shared/redis/keys.ts';
import type { Attempt } from '../../lane/attempt.ts';
import type { Rules } from '../causes.ts';

/** Causes that concern the length, or the state, of a conversation. */
export const SESSION = {
  'fresh-session': {
    severity: 'note',
    endsBy: 'quiet',
    namesEach: true,
  },
  'history-refused': {
    severity: 'today',
    endsBy: 'quiet',
    namesEach: true,
  },
  'torn-session': {
    severity: 'today',
    endsBy: 'quiet',
    namesEach: true,
  },
  'overflow-storm': {
    severity: 'page',
    endsBy: 'quiet',
    acts: ['pause-all'],
  },
  window: {
    severity: 'today',
    endsBy: 'quiet',
  },
} satisfies Rules;

/** Stage 2 of a recovery. */
export function freshSessionAlert(attempt: Attempt, entries: number, to: string): Alert {
  return {
    cause: 'fresh-session',
    ...whereOf(attempt),
    line: `Chat ${attempt.chat}: a fresh session; ${counted(entries, 'entry', 'entries')} stay in ${attempt.session}. Trace ${traceIdOf(attempt.traceparent)}`,
    text: `Context overflow: chat ${attempt.chat} was moved to a fresh session and the message is replayed. The old session ${attempt.session} had ${counted(entries, 'entry', 'entries')} and stays readable; the new one is ${to}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A history that the model rejects, whatever the error says: a fresh session that was answered in proves it. */
export function historyRefusedAlert(about: {
  chat: ChatKey;
  entry: EntryId;
  traceparent: string;
  from: string;
  to: string;
  entries: number;
  why: string;
}): Alert {
  return {
    cause: 'history-refused',
    ...whereOf(about),
    line: `Chat ${about.chat}: refused (${about.why}); ${counted(about.entries, 'entry', 'entries')} stay in ${about.from}. Trace ${traceIdOf(about.traceparent)}`,
    text: `The model refused the conversation of chat ${about.chat} (${about.why}), and takes the message without it: the chat goes on in a fresh session. The old session ${about.from} had ${counted(about.entries, 'entry', 'entries')} and stays readable; the new one is ${about.to}. Trace ${traceIdOf(about.traceparent)}`,
  };
}

/** A session log with lines that cannot be read. */
export function tornAlert(attempt: Attempt, records: number): Alert {
  return {
    cause: 'torn-session',
    ...whereOf(attempt),
    text: `A session log holds ${counted(records, 'record')} that cannot be read; the message goes on without. Chat ${attempt.chat}, session ${attempt.session}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/**
 * Many chats that the model refuses for their length at the same time; the caller that queues it replaces `{chats}`
 * with their number.
 */
export function overflowStormAlert(attempt: Attempt): Alert {
  return {
    cause: 'overflow-storm',
    ...whereOf(attempt),
    text: `Many chats overflow at the same time: the model refused {chats} chats as too long within 5 minutes, although our count said that they fit. One chat at a time is recovered, the others wait with their sessions. Chat ${attempt.chat}, entry ${attempt.entry}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** The end of the above. */
export function overflowStormOver(): Alert {
  return { cause: 'overflow-storm', isOver: true, text: 'Resolved: chats that overflowed are answered again.' };
}

/** A window that the operator states, and that the endpoint does not take. Notified once for all chats. */
export function windowAlert(attempt: Attempt, model: string, stated: number, taken: number): Alert {
  return {
    cause: 'window',
    key: model,
    ...whereOf(attempt),
    text: `The endpoint says that ${model} takes ${taken} tokens, but CONTEXT_WINDOW_TOKENS is ${stated}. The setting stays in force; this message is recovered for the smaller window. First seen: chat ${attempt.chat}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}
