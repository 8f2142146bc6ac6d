import { jsonFields } from '../base/fields.ts';
import { traceIdOf } from '../base/telemetry.ts';
import { counted } from '../base/text.ts';
import type { ChatKey, EntryId } from '../redis/keys.ts';

/** Why an operator is alerted. Each has a row in the table of causes, which says what to do and how it ends. */
export type Cause =
  | 'fresh-session'
  | 'history-refused'
  | 'window'
  | 'gave-up'
  | 'failed'
  | 'fixed-parts'
  | 'undeliverable'
  | 'telegram'
  | 'unsure'
  | 'long-wait'
  | 'undecodable'
  | 'torn-session'
  | 'tool-refused'
  | 'tools-omitted'
  | 'tool-server'
  | 'provider'
  | 'model-retires'
  | 'model-gone'
  | 'no-poll'
  | 'no-delivery'
  | 'conflict'
  | 'token'
  | 'unanswered'
  | 'paused'
  | 'idle'
  | 'ledger'
  | 'lost-data'
  | 'unclean-end'
  | 'dead-letters'
  | 'budget'
  | 'over-budget'
  | 'group-moved'
  | 'memory'
  | 'persistence'
  | 'blob-store'
  | 'alert-channel'
  /** The clock of a process differs from that of Redis. */
  | 'clock'
  /** A part of the watch fails. */
  | 'watcher'
  /** A cause that another version wrote, and this one does not know. */
  | 'other-version';

/** One occurrence of something that the operator must know: it opens an incident, is counted in one, or ends it. */
export interface Alert {
  cause: Cause;
  /** Distinguishes incidents of one cause, such as by the name of a tool; absent where only one can be open. */
  key?: string;
  /** Plain text: what happened, the chat id, numbers as digits, the trace id. */
  text: string;
  /** The same in a few words, for a list of many; absent where the text is short. */
  line?: string;
  chat?: ChatKey;
  entry?: EntryId;
  traceId?: string;
  /** The current kind of trouble, where a cause has several; a change is reported. */
  level?: string;
  /** The incident is over. */
  isOver?: true;
}

/** `page`: people get no answers now. `attention`: some messages failed, or will. `info`: nothing is to be done at once. */
export type Severity = 'page' | 'attention' | 'info';

/** The message that an alert is about. */
export type Place = Required<Pick<Alert, 'chat' | 'entry'>>;

/** The fields of an alert that lead to its message. */
export function whereOf({ chat, entry, traceparent }: Place & { traceparent: string }): Place & { traceId: string } {
  return { chat, entry, traceId: traceIdOf(traceparent) };
}

const WORDS = ['key', 'line', 'chat', 'entry', 'traceId', 'level'] as const;

/**
 * Reads an alert as it was queued, in any version: a cause that this one does not know is left in it, and a field that it
 * cannot use is left out. `undefined` when it has no words.
 */
export function readAlert(json: string | undefined): Alert | undefined {
  const read = jsonFields(json) ?? {};
  // An earlier version named the incident alone.
  const { text, incident, cause = typeof incident === 'string' ? incident : undefined } = read;
  if (typeof text !== 'string' || typeof cause !== 'string') return undefined;
  const words = WORDS.flatMap((name) => (typeof read[name] === 'string' ? [[name, read[name]]] : []));
  return { ...Object.fromEntries(words), cause: cause as Cause, text, ...(read.isOver === true && { isOver: true }) };
}

/** Ledger counts went back: they only ever grow, so Redis lost data. `counts` is their key. */
export function lostDataAlert(counts: string, before: number, now: number): Alert {
  return {
    cause: 'lost-data',
    text: `Redis lost data: ${counted(before, 'message')} had been accepted, and now it knows of ${now} (${counts}). Messages that waited may be gone without an answer, and conversations may have lost their end.`,
  };
}
