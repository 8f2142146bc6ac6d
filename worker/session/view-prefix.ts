import { isBlank } from '../model/block.ts';
import { type RepairedMessage, repairStretch } from '../model/rules/repair.ts';
import type { LogRecord } from './record.ts';
import type { Window } from './view.ts';
import { asWritten, spoken } from './written.ts';

/** What a view has computed of a window's oldest records, for the next view of the same window. */
interface Prefix {
  readonly head: Window['head'];
  readonly omitted: number;
  readonly records: readonly LogRecord[];
  readonly messages: readonly RepairedMessage[];
  /** The ids that occur in these messages. */
  readonly ids: ReadonlySet<unknown>;
  /** The entries and the records that a scrub or a trim among these records names. */
  readonly targets: ReadonlySet<unknown>;
}

/** Prefixes by their first record. */
const prefixes = new WeakMap<LogRecord, Prefix>();

/**
 * The view of a window, of which only what is new is computed. What is known is used only for the very same records,
 * each of them compared. Undefined where the window has no place at which it can be divided, or where what is new changes
 * how older records are shown.
 */
export function viewBehindPrefix(window: Window): RepairedMessage[] | undefined {
  const [first] = window.records;
  if (first === undefined) return undefined;
  const known = prefixes.get(first);
  const before = known && isPrefixOf(known, window) ? known : undefined;
  const prefix = (before ? extended(before, window) : begun(window)) ?? before;
  if (prefix === undefined || !isUntouched(prefix, window)) return undefined;
  prefixes.set(first, prefix);
  const fresh = repairStretch(messagesFrom(window, prefix), prefix.ids);
  return [...prefix.messages, ...fresh.messages];
}

function isPrefixOf({ head, omitted, records }: Prefix, window: Window): boolean {
  if (head !== window.head || omitted !== window.omitted || records.length > window.records.length) return false;
  return (
    records.every((record, at) => record === window.records[at]) && startsWithWords(window.records[records.length])
  );
}

/** Whether a record is what a person wrote: no result in it belongs to a call before it, and it is always shown. */
function startsWithWords(record: LogRecord | undefined): boolean {
  return record?.t === 'user' && typeof record.content === 'string' && !isBlank(record.content);
}

/** Whether nothing behind the prefix changes how it is shown, and nothing in it how the rest is. */
function isUntouched({ records, targets }: Prefix, window: Window): boolean {
  for (let at = records.length; at < window.records.length; at++) {
    const record = window.records[at];
    if (record === undefined || record.t === 'scrub' || record.t === 'trim' || targets.has(record.id)) return false;
    if (record.t === 'user' && record.entry !== undefined && targets.has(record.entry)) return false;
  }
  return true;
}

/** A prefix up to the newest words of a user, where it can be divided there. */
function begun(window: Window): Prefix | undefined {
  const end = window.records.findLastIndex(startsWithWords);
  if (end <= 0) return undefined;
  const records = window.records.slice(0, end);
  const { messages, canFollow } = repairStretch(asWritten({ ...window, records }), new Set());
  if (!canFollow) return undefined;
  const targets = new Set(records.flatMap(targetOf));
  return { head: window.head, omitted: window.omitted, records, messages, ids: idsIn(messages), targets };
}

function targetOf(record: LogRecord): unknown[] {
  if (record.t === 'trim') return [record.through];
  return record.t === 'scrub' ? [record.entry ?? record.record] : [];
}

/** A longer prefix. Undefined when there is none. */
function extended(before: Prefix, window: Window): Prefix | undefined {
  const end = window.records.findLastIndex(startsWithWords);
  if (end <= before.records.length || !isUntouched(before, window)) return undefined;
  const records = window.records.slice(0, end);
  const { messages, canFollow } = repairStretch(messagesFrom({ ...window, records }, before), before.ids);
  if (!canFollow) return undefined;
  const ids = idsIn(messages);
  return {
    ...before,
    records,
    messages: [...before.messages, ...messages],
    ids: ids.size === 0 ? before.ids : new Set([...before.ids, ...ids]),
  };
}

function messagesFrom(window: Window, { records }: Prefix) {
  // A prefix ends with an answer, so no code is open.
  return spoken(window.records.slice(records.length));
}

function idsIn(messages: readonly RepairedMessage[]): ReadonlySet<unknown> {
  const answers = messages.filter(({ role }) => role === 'assistant');
  return new Set(answers.flatMap(({ content }) => content.flatMap(({ id }) => (id === undefined ? [] : [id]))));
}
