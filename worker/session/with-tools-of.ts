import { withoutThinking } from './overlay.ts';
import type { AssistantRecord, LogRecord } from './record.ts';
import type { Window } from './view.ts';

/**
 * A window as a request for a guest shows it, or one for anybody else: an answer that was given with the other tools comes
 * without its thinking, which is bound to them, and without its size, which counts them. So each kind of request begins as
 * the one before it of its kind. The same record becomes the same object each time. Pure.
 */
export function withToolsOf(window: Window, isGuest: boolean): Window {
  const isOther = (record: LogRecord): record is AssistantRecord =>
    record.t === 'assistant' && (record.isForGuest === true) !== isGuest;
  if (!window.records.some(isOther)) return window;
  const records = window.records.map((record) => (isOther(record) ? withoutTools(record) : record));
  return { ...window, records };
}

const bare = new WeakMap<AssistantRecord, AssistantRecord>();

function withoutTools(record: AssistantRecord): AssistantRecord {
  const known = bare.get(record);
  if (known !== undefined) return known;
  const { usage: _, content, ...rest } = record;
  const made = { ...rest, content: typeof content === 'string' ? content : content.map(withoutThinking) };
  bare.set(record, made);
  return made;
}
