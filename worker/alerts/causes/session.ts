import { traceIdOf } from '../../../shared/base/telemetry.ts';
import { counted } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../shared/redis/keys.ts';
import type { Attempt } from '../../lane/attempt.ts';
import type { Rules } from '../causes.ts';

/** Causes that concern the length, or the state, of a conversation. */
export const SESSION = {
  'fresh-session': {
    severity: 'info',
    endsBy: 'quiet',
    namesEach: true,
  },
  'history-refused': {
    severity: 'attention',
    endsBy: 'quiet',
    namesEach: true,
  },
  'torn-session': {
    severity: 'attention',
    endsBy: 'quiet',
    namesEach: true,
  },
  window: {
    severity: 'attention',
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

/** A window that the operator states, and that the endpoint does not take. Notified once for all chats. */
export function windowAlert(attempt: Attempt, model: string, stated: number, taken: number): Alert {
  return {
    cause: 'window',
    key: model,
    ...whereOf(attempt),
    text: `The endpoint says that ${model} takes ${taken} tokens, but CONTEXT_WINDOW_TOKENS is ${stated}. The setting stays in force; this message is recovered for the smaller window. First seen: chat ${attempt.chat}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}
