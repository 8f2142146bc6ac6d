import { jsonFields } from '../base/fields.ts';
import { traceIdOf } from '../base/telemetry.ts';
import { counted } from '../base/text.ts';
import type { ChatKey, EntryId } from '../redis/keys.ts';

/** The cause of an alert. The table of causes says how to remedy each cause and when its incident ends. */
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
  | 'pairing'
  | 'memory'
  | 'persistence'
  | 'blob-store'
  | 'alert-channel'
  /** The clock of a process differs from that of Redis. */
  | 'clock'
  /** A part of the gateway's watch over itself fails. */
  | 'watcher'
  /** An alert of another version: this version cannot read the alert, or does not know its cause. */
  | 'other-version';

/** One occurrence of an incident: it opens the incident, adds to its count, or ends the incident. */
export interface Alert {
  cause: Cause;
  /** Distinguishes open incidents of one cause, e.g. by the name of a tool; absent if only one can be open. */
  key?: string;
  /** A plain text for operators: the event, the ids of its chat and trace, if any, and numbers as digits. */
  text: string;
  /** The text in a few words, for lists; absent if the text is short. */
  line?: string;
  chat?: ChatKey;
  entry?: EntryId;
  traceId?: string;
  /** The current kind of trouble, if the cause has several kinds. A change of the kind is reported to operators. */
  level?: string;
  /** Set if the incident is over. */
  isOver?: true;
}

/** `page`: people get no answers now. `attention`: some messages failed, or will fail. `info`: no need to act at once. */
export type Severity = 'page' | 'attention' | 'info';

/** The message that an alert is about, with its chat. */
export type Place = Required<Pick<Alert, 'chat' | 'entry'>>;

/** The fields of an alert that identify its message. */
export function whereOf({ chat, entry, traceparent }: Place & { traceparent: string }): Place & { traceId: string } {
  return { chat, entry, traceId: traceIdOf(traceparent) };
}

const WORDS = ['key', 'line', 'chat', 'entry', 'traceId', 'level'] as const;

/** Reads a queued alert of any version and any cause. Drops unusable fields; `undefined` if the text or cause is missing. */
export function readAlert(json: string | undefined): Alert | undefined {
  const fields = jsonFields(json) ?? {};
  // Alerts of an earlier version have `incident` in place of `cause`.
  const { text, incident, cause = typeof incident === 'string' ? incident : undefined } = fields;
  if (typeof text !== 'string' || typeof cause !== 'string') return undefined;
  const words = WORDS.flatMap((name) => (typeof fields[name] === 'string' ? [[name, fields[name]]] : []));
  return { ...Object.fromEntries(words), cause: cause as Cause, text, ...(fields.isOver === true && { isOver: true }) };
}

/** The alert that the count of accepted messages fell. Nothing lowers this count, so Redis has lost data. `counts`: its key. */
export function lostDataAlert(counts: string, previous: number, now: number): Alert {
  return {
    cause: 'lost-data',
    text: `Redis lost data: ${counted(previous, 'message')} had been accepted, and now it knows of ${now} (${counts}). Messages that waited may be gone without an answer, and conversations may lack their newest messages.`,
  };
}
