import type { EntryId } from '../shared/keys.ts';
import { type Attempt, traceIdOfAttempt } from './attempt.ts';

/** Something that the operator must know. */
export interface Alert {
  /** Alerts of one incident are sent once an hour; a name that holds an entry id is an incident of its own. */
  incident: string;
  /** Plain text: what happened, the chat id, numbers as digits, the trace id. */
  text: string;
}

/** Stage 2 of a recovery. */
export function freshSessionAlert(attempt: Attempt, entries: number, to: string): Alert {
  return {
    incident: `new-session-${attempt.entry}-${attempt.session}`,
    text: `Context overflow: chat ${attempt.chat} was moved to a fresh session and the message is replayed. The old session ${attempt.session} had ${entries} entries and stays readable; the new one is ${to}. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** A recovery that came to its end without an answer. */
export function gaveUpAlert(attempt: Attempt, reason: string): Alert {
  return {
    incident: `gave-up-${attempt.entry}`,
    text: `A message could not be answered: the request does not fit the model even in a fresh session (${reason}). ${place(attempt)}. The user was told. Check the size of the system prompt and the model's window. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** A message that failed. Failures that share a cause (a key that is not accepted) share an incident: `sharedCause`. */
export function failedAlert(attempt: Attempt, reason: string, detail: string, sharedCause: boolean): Alert {
  return {
    incident: sharedCause ? `failed-${reason}` : `failed-${attempt.entry}`,
    text: `A message failed (${reason}; ${detail}). ${place(attempt)}. The user was told. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** A conclusion that Telegram does not take: nobody but the operator can be told. */
export function undeliverableAlert(attempt: Attempt, why: string): Alert {
  return {
    incident: `undeliverable-${attempt.entry}`,
    text: `A reply could not be delivered (${why}). ${place(attempt)}. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** The day's budget of all chats. */
export function budgetAlert(attempt: Attempt): Alert {
  return {
    incident: `budget-${new Date().toISOString().slice(0, 10)}`,
    text: `The daily budget of all chats (TOTAL_DAILY_TOKENS) is used up: messages are refused until midnight, UTC. First refused: chat ${attempt.chat}. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** A session log with lines that cannot be read. */
export function tornAlert(attempt: Attempt, records: number): Alert {
  return {
    incident: `torn-${attempt.session}`,
    text: `A session log holds ${records} records that cannot be read; they were left out, and the message goes on without them. Chat ${attempt.chat}, session ${attempt.session}. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** An entry of the stream that names no chat. */
export function undecodableAlert(entry: EntryId): Alert {
  return {
    incident: `undecodable-${entry}`,
    text: `An entry of the inbound stream could not be read and was put aside as a dead letter: ${entry}. Nobody could be answered.`,
  };
}

function place({ chat, entry }: Attempt): string {
  return `Chat ${chat}, entry ${entry}`;
}
