import { createHash } from 'node:crypto';
import { traceIdOf } from '../../shared/base/telemetry.ts';
import { clip } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import type { Alert } from '../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../shared/redis/keys.ts';
import { hostAndPid } from '../../shared/state/process/process.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { FailureReason } from '../model/errors/failure.ts';
import { PROVIDER_SAID, providerTroubleOf } from '../model/provider-trouble.ts';

const KEPT =
  'It is kept as a dead letter: "cli dead replay", or /retry in the chat, goes on with it; an answer is delivered without asking the model again.';
const TOOLS_NAMED_MAX = 10;
const SERVER_CHARS_MAX = 80;
const TOOL_CHARS_MAX = 64;
const WHERE_CHARS_MAX = 600;

/** Stage 2 of a recovery. */
export function freshSessionAlert(attempt: Attempt, entries: number, to: string): Alert {
  return {
    cause: 'fresh-session',
    ...whereOf(attempt),
    line: `Chat ${attempt.chat}: a fresh session; ${entries} entries stay in ${attempt.session}. Trace ${traceIdOf(attempt.traceparent)}`,
    text: `Context overflow: chat ${attempt.chat} was moved to a fresh session and the message is replayed. The old session ${attempt.session} had ${entries} entries and stays readable; the new one is ${to}. Trace ${traceIdOf(attempt.traceparent)}`,
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
    chat: about.chat,
    entry: about.entry,
    traceId: traceIdOf(about.traceparent),
    line: `Chat ${about.chat}: refused (${about.why}); ${about.entries} entries stay in ${about.from}. Trace ${traceIdOf(about.traceparent)}`,
    text: `The model refused the conversation of chat ${about.chat} (${about.why}), and takes the message without it: the chat goes on in a fresh session. The old session ${about.from} had ${about.entries} entries and stays readable; the new one is ${about.to}. Trace ${traceIdOf(about.traceparent)}`,
  };
}

/** A tool that the model's API rejects. Notified once for all chats. */
export function refusedToolAlert(attempt: Attempt, tool: string): Alert {
  return {
    cause: 'tool-refused',
    key: tool,
    ...whereOf(attempt),
    text: `The model's API refuses the tool ${tool}, so it was removed until the next start; chats go on without it. Correct its definition on its server. First seen: chat ${attempt.chat}. Trace ${traceIdOf(attempt.traceparent)}`,
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
    text: `Many chats overflow at the same time: the model refused {chats} chats as too long within 5 minutes, although our count said that they fit. One chat at a time is recovered, the others wait with their sessions. ${place(attempt)}. Trace ${traceIdOf(attempt.traceparent)}`,
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

/** What every request holds is refused: no chat is to blame. Notified once for all chats. */
export function fixedPartsAlert(attempt: Attempt, why: string, status: number | undefined): Alert {
  return {
    cause: 'fixed-parts',
    ...whereOf(attempt),
    text: `The endpoint refuses every request (${why}, status ${status ?? 'none'}), even without any conversation: messages fail, and their users are notified. Check the system prompt, the tools and the proxy in front of the model. No session was touched. First seen: chat ${attempt.chat}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** The end of the above. */
export function fixedPartsTakenAlert(): Alert {
  const text = 'Resolved: the endpoint takes requests again. "cli dead replay" sends the messages that failed.';
  return { cause: 'fixed-parts', isOver: true, text };
}

/** A recovery that ended without an answer. */
export function gaveUpAlert(attempt: Attempt, reason: string, fault: 'size' | 'message' | 'output'): Alert {
  const tried = attempt.stage === 'none' || attempt.stage === 'compacted' ? '' : ', even in a fresh session';
  const what =
    fault === 'size'
      ? `the request does not fit the model${tried} (${reason}). Check the size of the system prompt and the model's window`
      : `the model does not take it${tried} (${reason}). It was removed from its conversation`;
  const cause = fault === 'output' ? `its thinking used up all the output, three times (${reason})` : what;
  return {
    cause: 'gave-up',
    ...whereOf(attempt),
    text: `A message could not be answered: ${cause}. ${place(attempt)}. The user was notified. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A message that failed. A failure that the endpoint gives to everyone belongs to the endpoint's incident. */
export function failedAlert(attempt: Attempt, reason: string, detail: string): Alert {
  const trouble = providerTroubleOf(reason as FailureReason);
  const why = trouble === undefined ? '' : `: the model endpoint ${PROVIDER_SAID[trouble]}`;
  return {
    ...(trouble === undefined ? { cause: 'failed' as const } : { cause: 'provider' as const, level: trouble }),
    ...whereOf(attempt),
    text: `A message failed (${reason}; ${detail})${why}. ${place(attempt)}. The user was notified. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A model that chats chose, and that the endpoint does not know although it answers by another one. */
export function modelGoneAlert(attempt: Attempt, gone: string, now: string): Alert {
  return {
    cause: 'model-gone',
    key: gone,
    ...whereOf(attempt),
    text: `The endpoint does not know the model ${gone} any more, which chat ${attempt.chat} had chosen. The chat goes on with ${now}, and its user was told. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A conclusion that Telegram rejects: only the operator can be notified. */
export function undeliverableAlert(attempt: Attempt, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(attempt),
    text: `A reply could not be delivered (${why}). ${place(attempt)}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A finished reply that nobody refused, and that could not be delivered all the same. */
export function undeliveredAlert(attempt: Attempt, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(attempt),
    text: `A finished reply was not delivered (${why}). ${place(attempt)}. ${KEPT} Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A finished reply that has waited for a Telegram that is away for as long as it may. */
export function telegramAwayAlert(attempt: Attempt, waitedMs: number, { kind, description }: TelegramFailure): Alert {
  const waited = `${Math.round(waitedMs / 60_000)} minutes`;
  return {
    cause: 'telegram',
    ...whereOf(attempt),
    text: `A finished reply has waited ${waited} for Telegram (TELEGRAM_PATIENCE_MS) and is not tried any more; its user was not told (${kind}: ${description}). ${place(attempt)}. ${KEPT} Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A text whose repeat got no word from Telegram either, although it confirmed other messages. */
export function unsureAlert(attempt: Attempt): Alert {
  return {
    cause: 'unsure',
    ...whereOf(attempt),
    text: `A part of a reply may be missing: it was sent and repeated, and Telegram, which confirmed other messages meanwhile, said neither time whether it took it. Chat ${attempt.chat}, entry ${attempt.entry}. The user may have to ask again. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A session log with lines that cannot be read. */
export function tornAlert(attempt: Attempt, records: number): Alert {
  return {
    cause: 'torn-session',
    ...whereOf(attempt),
    text: `A session log holds ${records} records that cannot be read; they were omitted, and the message goes on without them. Chat ${attempt.chat}, session ${attempt.session}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/**
 * Tools that the model is not shown, since it would refuse every message with them. A server's words are a stranger's:
 * of a name only what cannot be a link, a mention or a command is told here, and the reason only in the log.
 */
export function omittedToolsAlert(server: string, omitted: readonly { tool: string; why: string }[]): Alert {
  const names = omitted.slice(0, TOOLS_NAMED_MAX).map(({ tool }) => plainName(tool));
  const more = omitted.length > names.length ? ` and ${omitted.length - names.length} more` : '';
  const digest = createHash('sha256').update(JSON.stringify(omitted)).digest('hex').slice(0, 16);
  return {
    cause: 'tools-omitted',
    key: server,
    level: digest,
    text: `${omitted.length} tools of the MCP server ${JSON.stringify(clip(server, SERVER_CHARS_MAX))} are left out, and chats go on without them: ${names.join(', ')}${more}.`,
  };
}

function plainName(tool: string): string {
  return tool === '' ? '(no name)' : clip(tool.replaceAll(/[^A-Za-z0-9_-]/g, '_'), TOOL_CHARS_MAX);
}

/** An entry of the stream that names no chat. */
export function undecodableAlert(entry: EntryId): Alert {
  return {
    cause: 'undecodable',
    entry,
    text: `An entry of the inbound stream could not be read and was put aside as a dead letter: ${entry}. Nobody could be answered.`,
  };
}

/** A worker process that was killed, ran out of memory or stood still; `turns` is what it had last shown to run. */
export function uncleanEndAlert(end: {
  name: string;
  seenMs: number;
  turns: string;
  where?: string | null | undefined;
}): Alert {
  const { host, pid } = hostAndPid(end.name);
  const seen = utcTime(end.seenMs);
  const turns = (JSON.parse(end.turns) as [EntryId, ChatKey][]).map(([entry, chat]) => `chat ${chat}, entry ${entry}`);
  const why = end.where
    ? `its event loop stood still: ${clip(end.where, WHERE_CHARS_MAX)}`
    : 'killed, out of memory, or its machine went away';
  const running = turns.length === 0 ? 'Nothing was being answered.' : `Being answered: ${turns.join('; ')}.`;
  return {
    cause: 'unclean-end',
    line: `Process ${pid} on ${host} ended without a goodbye, last seen ${seen}`,
    text: `A process ended without a goodbye (${why}): process ${pid} on ${host}, last seen ${seen}. ${running} What it was answering runs again.`,
  };
}

/** A tool server that does not answer, or answers again. Why, it may have said itself: only the log quotes it. */
export function toolServerAlert(server: string, now: 'up' | 'down'): Alert {
  const name = JSON.stringify(clip(server, SERVER_CHARS_MAX));
  const about = { cause: 'tool-server' as const, key: server };
  if (now === 'up') return { ...about, isOver: true, text: `Resolved: the MCP server ${name} is up again.` };
  return { ...about, text: `The MCP server ${name} is down; the log and "cli check" say why.` };
}

/** A store of files and archives that takes or gives nothing just now, as one process sees it. */
export function blobStoreAlert(why: string, process: string): Alert {
  return {
    cause: 'blob-store',
    level: why,
    text: `The blob store (BLOB_URL) cannot be used (${why}), as ${process} sees it. Messages with files wait until it can, the others are answered; nothing is lost. Check the disk and the owner of the folder, or the bucket and its keys.`,
  };
}

/** A process with a store of its own: what the others put is not there. */
export function otherBlobStoreAlert(process: string): Alert {
  return {
    cause: 'blob-store',
    level: 'another store',
    text: `The blob store (BLOB_URL) of ${process} is not the one that the data in Redis refers to: files and archives that were put there cannot be read by this process, nor its own by the others. Give all workers the same store. If the earlier one is gone for good, see the runbook.`,
  };
}

function whereOf(attempt: Attempt): Pick<Alert, 'chat' | 'entry' | 'traceId'> {
  return { chat: attempt.chat, entry: attempt.entry, traceId: traceIdOf(attempt.traceparent) };
}

function place({ chat, entry }: Attempt): string {
  return `Chat ${chat}, entry ${entry}`;
}

/** Messages that an earlier version than the one that accepted them does not answer, and no other either. */
export function leftLanesAlert(messages: number): Alert {
  return {
    cause: 'other-version',
    key: 'lanes',
    text: `${messages} messages are in lanes that this version does not know, and no other answers them: they wait until the version runs that accepted them.`,
  };
}
