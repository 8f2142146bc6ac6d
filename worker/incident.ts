import type { ChatKey, EntryId, Keys } from '../shared/keys.ts';
import { type Attempt, type Command, traceIdOfAttempt } from './attempt.ts';

/** Something that the operator must know. */
export interface Alert {
  /** Alerts of one incident are sent once an hour; a name that holds an entry id is an incident of its own. */
  incident: string;
  /** Plain text: what happened, the chat id, numbers as digits, the trace id. */
  text: string;
}

/** Alerts that nobody takes must not fill Redis. */
const ALERTS_MAX = 10_000;

/** The command that queues an alert, for a fenced write: an alert is stored in one step with what it tells of. */
export function alertCommand(keys: Keys, alert: Alert): Command {
  return ['XADD', keys.alerts, 'MAXLEN', '~', ALERTS_MAX, '*', 'alert', JSON.stringify(alert)];
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

/** Messages that went without an outcome (above 0), or that came in uncounted (below 0); `counts` is the key of the counts. */
export function unbalancedAlert({ accepted, settled, pending, unaccounted }: Numbers, counts: string): Alert {
  return {
    incident: 'ledger',
    text: `The ledger does not add up: ${accepted} messages were accepted, ${settled} settled, ${pending} wait; ${unaccounted} are unaccounted for (${counts}).`,
  };
}

/** The end of the above. Named by its beginning: each end is told once, however soon it comes. */
export function balancedAlert({ accepted, settled, pending }: Numbers, alarmedAtMs: number): Alert {
  return {
    incident: `ledger-resolved-${alarmedAtMs}`,
    text: `Resolved: the ledger adds up again. ${accepted} messages were accepted, ${settled} settled, ${pending} wait.`,
  };
}

/** Counts of the ledger that went back: they only ever grow, so Redis forgot what it had. `counts` is their key. */
export function lostDataAlert(counts: string, before: number, now: number): Alert {
  return {
    incident: `lost-data-${counts}`,
    text: `Redis lost data: ${before} messages had been accepted, and now it knows of ${now} (${counts}). Messages that waited may be gone without an answer, and conversations may have lost their end.`,
  };
}

/** A message that has no outcome for too long. Its chat and trace are those of the oldest one. */
export function unansweredAlert(
  shard: number,
  seen: { chat: ChatKey; entry: EntryId; traceId: string; ageMs: number; waiting: number },
): Alert {
  return {
    incident: `unanswered-${shard}`,
    text: `A message is unanswered for ${seconds(seen.ageMs)} seconds. Chat ${seen.chat}, entry ${seen.entry}. In all ${seen.waiting} messages of shard ${shard} wait. Trace ${seen.traceId}`,
  };
}

/** Jobs that nobody runs. */
export function idleAlert(shard: number, jobsWaiting: number): Alert {
  return {
    incident: `idle-${shard}`,
    text: `Jobs wait and none is active: ${jobsWaiting} jobs of shard ${shard}. No worker takes them up.`,
  };
}

/** Nobody takes messages from Telegram. */
export function noPollAlert(ageMs: number, lastFailure: string | undefined): Alert {
  const why = lastFailure === undefined ? '' : ` The last failure was: ${lastFailure}.`;
  return {
    incident: 'no-poll',
    text: `No poll has succeeded for ${seconds(ageMs)} seconds: messages stay with Telegram, which keeps them for 24 hours.${why}`,
  };
}

/** A second receiver of the bot's messages. */
export function conflictAlert(ageMs: number): Alert {
  return {
    incident: 'conflict',
    text: `Telegram refuses our polls (409, ${seconds(ageMs)} seconds ago): another process polls with the same token, or a webhook is set. Messages may be taken by the other one.`,
  };
}

/** A bot token that Telegram does not take. */
export function tokenAlert(ageMs: number): Alert {
  return {
    incident: 'token',
    text: `The bot token is not accepted (${seconds(ageMs)} seconds ago): nothing can be received or sent.`,
  };
}

/** Alerts that stay in their queue. */
export function unsentAlert(shard: number, ageMs: number): Alert {
  return {
    incident: `alerts-${shard}`,
    text: `Alerts cannot be sent: the oldest one of shard ${shard} waits for ${seconds(ageMs)} seconds.`,
  };
}

/** A Redis that will soon take no more messages. */
export function memoryAlert({ usedBytes, maxBytes }: { usedBytes: number; maxBytes: number }): Alert {
  return {
    incident: 'memory',
    text: `Redis is nearly full: ${megabytes(usedBytes)} of ${megabytes(maxBytes)} MB are used. When it is full, no more messages are accepted.`,
  };
}

/** The end of an incident that the operator was told of. `over` says what is well again. */
export function resolvedAlert(incident: string, over: string, openMs: number): Alert {
  return { incident, text: `Resolved: ${over} The incident lasted ${seconds(openMs)} seconds (${incident}).` };
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

type Numbers = Readonly<Record<'accepted' | 'settled' | 'pending' | 'unaccounted', number>>;

function place({ chat, entry }: Attempt): string {
  return `Chat ${chat}, entry ${entry}`;
}
