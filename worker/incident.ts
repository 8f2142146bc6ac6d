import { createHash } from 'node:crypto';
import type { Alert } from '../shared/alert.ts';
import type { ChatKey, EntryId } from '../shared/keys.ts';
import { clip } from '../shared/text.ts';
import { type Attempt, traceIdOfAttempt } from './attempt.ts';

const TOOLS_NAMED_MAX = 10;
const SERVER_CHARS_MAX = 80;

/** Stage 2 of a recovery. */
export function freshSessionAlert(attempt: Attempt, entries: number, to: string): Alert {
  return {
    incident: `new-session-${attempt.entry}-${attempt.session}`,
    text: `Context overflow: chat ${attempt.chat} was moved to a fresh session and the message is replayed. The old session ${attempt.session} had ${entries} entries and stays readable; the new one is ${to}. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** A history that the model does not take, whatever its words: found out since a fresh session was answered in. */
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
    incident: `new-session-${about.entry}-${about.from}`,
    text: `The model refused the conversation of chat ${about.chat} (${about.why}), and takes the message without it: the chat goes on in a fresh session. The old session ${about.from} had ${about.entries} entries and stays readable; the new one is ${about.to}. Trace ${about.traceparent.split('-')[1] ?? ''}`,
  };
}

/** A tool that the model's API does not take. Told once for all chats. */
export function refusedToolAlert(attempt: Attempt, tool: string): Alert {
  return {
    incident: `tool-${tool}`,
    text: `The model's API refuses the tool ${tool}, so it was taken out until the next start; chats go on without it. Mend its definition on its server. First seen: chat ${attempt.chat}. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** What every request holds is refused: no chat is to blame. Told once for all chats. */
export function fixedPartsAlert(attempt: Attempt, why: string, status: number | undefined): Alert {
  return {
    incident: 'fixed-parts',
    text: `The endpoint refuses every request (${why}, status ${status ?? 'none'}), even without any conversation: messages fail, and their users are told. Check the system prompt, the tools and the proxy in front of the model. No session was touched. First seen: chat ${attempt.chat}. Trace ${traceIdOfAttempt(attempt)}`,
  };
}

/** A recovery that came to its end without an answer. */
export function gaveUpAlert(attempt: Attempt, reason: string, fault: 'size' | 'message' | 'output'): Alert {
  const what =
    fault === 'size'
      ? `the request does not fit the model even in a fresh session (${reason}). Check the size of the system prompt and the model's window`
      : `the model does not take it, even in a fresh session (${reason}). It was removed from its conversation`;
  const cause = fault === 'output' ? `its thinking used up all the output, three times (${reason})` : what;
  return {
    incident: `gave-up-${attempt.entry}`,
    text: `A message could not be answered: ${cause}. ${place(attempt)}. The user was told. Trace ${traceIdOfAttempt(attempt)}`,
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

/** A text that was sent twice, and nobody knows whether either came through: it is not sent a third time. */
export function unsureAlert(attempt: Attempt): Alert {
  return {
    incident: `unsure-${attempt.entry}`,
    text: `A part of a reply may be missing: it was sent twice, and Telegram said neither time whether it took it. Chat ${attempt.chat}, entry ${attempt.entry}. The user may have to ask again. Trace ${traceIdOfAttempt(attempt)}`,
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

/** Tools that the model is not told of, since it would refuse every message with them. The incident is the server with these tools and reasons. */
export function leftOutAlert(server: string, leftOut: readonly { tool: string; why: string }[]): Alert {
  const named = leftOut
    .slice(0, TOOLS_NAMED_MAX)
    .map(({ tool, why }) => `- ${tool === '' ? '(no name)' : tool}: ${why}`);
  const more = leftOut.length > named.length ? [`- and ${leftOut.length - named.length} more`] : [];
  const digest = createHash('sha256')
    .update(JSON.stringify([server, leftOut]))
    .digest('hex')
    .slice(0, 16);
  return {
    incident: `tools-left-out-${digest}`,
    text: [
      `${leftOut.length} tools of the MCP server ${JSON.stringify(clip(server, SERVER_CHARS_MAX))} are left out, and chats go on without them:`,
      ...named,
      ...more,
    ].join('\n'),
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

/** Nobody polls Telegram for messages. */
export function noPollAlert(ageMs: number, lastFailure: string | undefined): Alert {
  return {
    incident: 'no-poll',
    text: `No poll has succeeded for ${seconds(ageMs)} seconds: messages stay with Telegram, which keeps them for 24 hours.${lastFailureOf(lastFailure)}`,
  };
}

/** A webhook that Telegram says nothing good of, or nothing at all. */
export function noDeliveryAlert(ageMs: number, lastFailure: string | undefined): Alert {
  return {
    incident: 'no-delivery',
    text: `The webhook shows no sign of life for ${seconds(ageMs)} seconds: messages stay with Telegram, which keeps them for 24 hours.${lastFailureOf(lastFailure)}`,
  };
}

/** A second receiver of the bot's messages. */
export function conflictAlert(ageMs: number): Alert {
  return {
    incident: 'conflict',
    text: `Telegram refuses our polls (409, ${seconds(ageMs)} seconds ago): another process polls with the same token, or a webhook is set. Messages may be taken by the other one.`,
  };
}

/** A webhook of ours that somebody else has removed or replaced. */
export function takenWebhookAlert(ageMs: number): Alert {
  return {
    incident: 'conflict',
    text: `Our webhook was removed or replaced (${seconds(ageMs)} seconds ago): another process receives with the same token. It was set again. Messages may have been taken by the other one.`,
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

function lastFailureOf(kind: string | undefined): string {
  return kind === undefined ? '' : ` The last failure was: ${kind}.`;
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
