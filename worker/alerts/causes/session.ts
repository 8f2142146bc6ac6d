import { traceIdOf } from '../../../shared/base/telemetry.ts';
import { counted } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../../shared/redis/keys.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Rules } from './words.ts';

/** Causes about the length or the state of a conversation. */
export const SESSION = {
  'fresh-session': {
    severity: 'info',
    title: 'Context overflow: chats were moved to fresh sessions',
    todo: 'If it happens to many chats, compare the window of the model with CONTEXT_BUDGET_TOKENS.',
    endsBy: 'quiet',
    end: 'no more chats are moved to fresh sessions.',
    namesEach: true,
  },
  'history-refused': {
    severity: 'attention',
    title: 'The model refused conversations',
    todo: 'Look at the guardrails of the proxy in front of the model, if there is one.',
    endsBy: 'quiet',
    end: 'no more conversations are refused.',
    namesEach: true,
  },
  'torn-session': {
    severity: 'attention',
    title: 'Session logs hold records that cannot be read',
    todo: 'Check Redis and its disk.',
    endsBy: 'quiet',
    end: 'no more unreadable records are found.',
    namesEach: true,
  },
  window: {
    severity: 'attention',
    title: 'The endpoint takes less than CONTEXT_WINDOW_TOKENS',
    todo: 'Lower CONTEXT_WINDOW_TOKENS, or remove it: until then every message of a longer chat is refused first.',
    endsBy: 'quiet',
    end: 'no more requests are refused below CONTEXT_WINDOW_TOKENS.',
  },
} satisfies Rules;

/** The alert that a recovery moved a chat to a fresh session (stage `fresh`). */
export function freshSessionAlert(turn: Turn, records: number, newSession: string): Alert {
  return {
    cause: 'fresh-session',
    ...whereOf(turn),
    line: `Chat ${turn.chat}: ${counted(records, 'entry', 'entries')} stay in ${turn.session}; now ${newSession}. Trace ${traceIdOf(turn.traceparent)}`,
    text: 'A conversation did not fit the model, even compacted: its chat goes on in a fresh session, and the message is answered there. The old session stays readable.',
  };
}

/** The alert that the model rejects a chat's history, as proven by an answer in a fresh session. */
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
    line: `Chat ${about.chat} (${about.why}): ${counted(about.entries, 'entry', 'entries')} stay in ${about.from}; now ${about.to}. Trace ${traceIdOf(about.traceparent)}`,
    text: `The model refused a conversation (${about.why}), and takes the message without it: the chat goes on in a fresh session. The old session stays readable.`,
  };
}

/** The alert that a session log has unreadable records. */
export function tornAlert(turn: Turn, records: number): Alert {
  return {
    cause: 'torn-session',
    ...whereOf(turn),
    line: `Chat ${turn.chat}: ${counted(records, 'record')} of ${turn.session}. Trace ${traceIdOf(turn.traceparent)}`,
    text: `A session log holds ${counted(records, 'record')} that cannot be read; the message is answered without.`,
  };
}

/** The alert that the endpoint accepts less than `CONTEXT_WINDOW_TOKENS`. One incident for each model. */
export function windowAlert(turn: Turn, model: string, settingTokens: number, endpointTokens: number): Alert {
  return {
    cause: 'window',
    key: model,
    ...whereOf(turn),
    text: `The endpoint says that ${model} takes ${endpointTokens} tokens, but CONTEXT_WINDOW_TOKENS is ${settingTokens}. The setting stays in force; messages are recovered for the smaller window.`,
  };
}
