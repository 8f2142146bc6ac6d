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
    title: 'Conversations outgrew the model and were restarted with a summary',
    todo: 'Nothing to do for a single chat. For many: lower CONTEXT_BUDGET_TOKENS.',
    endsBy: 'quiet',
    end: 'no more conversations had to be restarted.',
    namesEach: true,
  },
  'history-refused': {
    severity: 'attention',
    title: 'Conversations were restarted: the model rejected them',
    todo: 'Nothing to do for a single chat. For many: check the guardrails of the proxy in front of the model.',
    endsBy: 'quiet',
    end: 'no more conversations were rejected.',
    namesEach: true,
  },
  'torn-session': {
    severity: 'attention',
    title: 'Parts of stored conversations are unreadable',
    todo: 'Check the disk of Redis, and whether something else writes to its keys.',
    endsBy: 'quiet',
    end: 'no more unreadable parts were found.',
    namesEach: true,
  },
  window: {
    severity: 'attention',
    title: 'Long chats are answered late: CONTEXT_WINDOW_TOKENS is too high',
    todo: 'Lower or remove CONTEXT_WINDOW_TOKENS. Until then the endpoint rejects each message of a long chat once.',
    endsBy: 'quiet',
    end: 'no more requests below CONTEXT_WINDOW_TOKENS were rejected.',
  },
} satisfies Rules;

/** The alert that a recovery moved a chat to a fresh session (stage `fresh`). */
export function freshSessionAlert(turn: Turn, records: number, newSession: string): Alert {
  return {
    cause: 'fresh-session',
    ...whereOf(turn),
    line: `Chat ${turn.chat}: ${counted(records, 'entry', 'entries')} kept in ${turn.session}; now ${newSession}. Trace ${traceIdOf(turn.traceparent)}`,
    text: 'A conversation did not fit the model, even compacted. Its message is answered in a fresh session that begins with a summary. The old session is kept.',
  };
}

/** The alert that the model rejects a chat's history, as an answer in a fresh session has proven. */
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
    line: `Chat ${about.chat} (${about.why}): ${counted(about.entries, 'entry', 'entries')} kept in ${about.from}; now ${about.to}. Trace ${traceIdOf(about.traceparent)}`,
    text: `The model rejects a conversation (${about.why}), but accepts its newest message alone. The chat continues in a fresh session. The old session is kept.`,
  };
}

/** The alert that a session log has unreadable records. */
export function tornAlert(turn: Turn, records: number): Alert {
  return {
    cause: 'torn-session',
    ...whereOf(turn),
    line: `Chat ${turn.chat}: ${counted(records, 'record')} of ${turn.session}. Trace ${traceIdOf(turn.traceparent)}`,
    text: `In a conversation, ${counted(records, 'record')} cannot be read. The message is answered without that part.`,
  };
}

/** The alert that the endpoint accepts fewer tokens than `CONTEXT_WINDOW_TOKENS`. One incident for each model. */
export function windowAlert(turn: Turn, model: string, settingTokens: number, endpointTokens: number): Alert {
  return {
    cause: 'window',
    key: model,
    ...whereOf(turn),
    text: `The endpoint says that ${model} takes ${endpointTokens} tokens, but CONTEXT_WINDOW_TOKENS is ${settingTokens}. The setting stays in force, and each rejected conversation is compacted to fit.`,
  };
}
