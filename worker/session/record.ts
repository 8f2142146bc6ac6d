import { randomUUID } from 'node:crypto';
import { jsonFields } from '../../shared/base/fields.ts';
import type { Usage } from '../../shared/state/spending/usage-book.ts';
import type { Block } from '../model/block.ts';

type Content = string | readonly Block[];

interface Base {
  readonly v: 1;
  readonly id: string;
  /** ISO time. */
  readonly at: string;
}

export interface UserRecord extends Base {
  readonly t: 'user';
  readonly content: Content;
  /** The entry of this message; absent for imports and tool results. */
  readonly entry?: string;
  /** A description of the chat in which the message was written. */
  readonly channel?: string;
  /** The author's name, if several people share the chat. */
  readonly from?: string;
  /** The lines that the gateway puts before the message, with its time and its author. Older records have none. */
  readonly header?: string;
  /** The entry of the message that this record asks again. Once this record is answered, the conversation goes on from it. */
  readonly retryOf?: string;
}

export interface AssistantRecord extends Base {
  readonly t: 'assistant';
  /** The content of the answer, verbatim as received. */
  readonly content: Content;
  readonly entry?: string;
  readonly model?: string;
  readonly stopReason?: string | null;
  /** The ids of tool calls whose input is not a JSON object. The gateway does not make these calls. Absent for none. */
  readonly unreadable?: readonly string[];
  /** Set for answers to guests, for whom the model has fewer tools. */
  readonly isForGuest?: true;
  /** The token counts that the endpoint stated; absent in older records. */
  readonly usage?: Pick<Usage, 'inputTokens' | 'outputTokens' | 'passes'>;
}

/** A model's summary of everything before the window. */
export interface CompactionRecord extends Base {
  readonly t: 'compaction';
  readonly summary: string;
  /** The index of the first record that the summary does not cover, counted from the session's first record. */
  readonly records: number;
  /** The number of records before the index `records` that no summariser has read; absent for none. */
  readonly unseen?: number;
  /** An unguessable word around the summary, so that no text inside can seem to end the summary; absent in older records. */
  readonly boundary?: string;
  /** Pictures and PDFs from before the window, newest last, each with its reference; absent in older records. */
  readonly files?: readonly string[];
}

/** The text that opens a fresh session, built by the gateway from the old session. */
interface SeedRecord extends Base {
  readonly t: 'seed';
  readonly text: string;
  readonly parent: string;
  readonly records: number;
}

/** Makes the view show `text` in place of a record's content, one block of it, or a whole turn. The log keeps the original. */
export interface ScrubRecord extends Base {
  readonly t: 'scrub';
  /** The entry of the target message, which identifies the message in every session; absent for other targets. */
  readonly entry?: string;
  /** The id of the target record, if that is not a message with an entry, but an answer, tool results or an import. */
  readonly record?: string;
  /** The index of the target block; absent if the target is all of the content. */
  readonly block?: number;
  /** Whether the scrub also hides the answers, tool calls and results that followed the message. */
  readonly turn?: boolean;
  readonly text: string;
}

/** Makes the view show less of the records up to `through`: old tool results as one line each, or no thinking. */
export interface TrimRecord extends Base {
  readonly t: 'trim';
  readonly what: 'results' | 'thinking';
  /** The id of the newest trimmed record. */
  readonly through: string;
}

/** One item of a session's append-only log, version 1. A compaction, a scrub or a trim changes the view, never the log. */
export type LogRecord =
  | UserRecord
  | AssistantRecord
  | CompactionRecord
  | SeedRecord
  | ScrubRecord
  | TrimRecord
  | TornRecord;
/** Replaces an unreadable line of the log, so that the other records keep their indexes. Only in memory; never shown. */
interface TornRecord extends Base {
  readonly t: 'torn';
}

const TRIMMED: ReadonlySet<unknown> = new Set<TrimRecord['what']>(['results', 'thinking']);
const TORN: TornRecord = { v: 1, t: 'torn', id: '', at: '' };

/** The id and the time of a new record. */
export function newStamp(): { id: string; at: string } {
  return { id: randomUUID(), at: new Date().toISOString() };
}

/** Reads a record; never throws. A line that is malformed or of an unknown version becomes a torn record. */
export function decodeRecord(json: string): LogRecord {
  const record = jsonFields(json);
  return record?.v === 1 && hasShape(record) ? (record as unknown as LogRecord) : TORN;
}

/** Checks the shape by hand, because each turn decodes a window, and a schema library would take most of the turn's time. */
function hasShape(record: Partial<Record<string, unknown>>): boolean {
  if (typeof record.id !== 'string' || typeof record.at !== 'string') return false;
  if (record.t === 'user' || record.t === 'assistant')
    return (
      isContent(record.content) &&
      [record.entry, record.channel, record.from, record.header, record.retryOf].every(isTextOrAbsent) &&
      (record.unreadable === undefined || Array.isArray(record.unreadable))
    );
  if (record.t === 'compaction')
    return (
      typeof record.summary === 'string' &&
      isTextOrAbsent(record.boundary) &&
      isCountOrAbsent(record.unseen) &&
      areTextsOrAbsent(record.files)
    );
  if (record.t === 'seed') return typeof record.text === 'string';
  if (record.t === 'trim') return typeof record.through === 'string' && TRIMMED.has(record.what);
  return record.t === 'scrub' && typeof record.text === 'string' && hasTarget(record);
}

function hasTarget({ entry, record, block }: Partial<Record<string, unknown>>): boolean {
  return typeof (entry ?? record) === 'string' && (block === undefined || Number.isInteger(block));
}

function isCountOrAbsent(value: unknown): boolean {
  return value === undefined || (Number.isInteger(value) && Number(value) >= 0);
}

function areTextsOrAbsent(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function isContent(content: unknown): boolean {
  if (typeof content === 'string') return true;
  return Array.isArray(content) && content.every((block) => typeof (block as Block | null)?.type === 'string');
}

/** A record as a line of the log. */
export function encodeRecord(record: LogRecord): string {
  return JSON.stringify(record);
}

/** The readable text of a tool result. For a block of another type, a note with the type; for unknown content, its JSON. */
export function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  return Array.isArray(content) ? content.map(nestedText).join('\n') : JSON.stringify(content);
}

function nestedText(block: unknown): string {
  const { type, text } = (block ?? {}) as Partial<Record<string, unknown>>;
  if (type === 'text' && typeof text === 'string') return text;
  return `(${typeof type === 'string' ? type : 'block'} left out)`;
}

/** Whether a record belongs to the conversation, as opposed to records with which the gateway shapes the view. */
export function isEntry(record: LogRecord): boolean {
  return record.t === 'user' || record.t === 'assistant';
}

/** Whether a turn starts with this record: a message, as opposed to tool results. */
export function startsTurn(record: LogRecord): boolean {
  if (record.t !== 'user') return false;
  return typeof record.content === 'string' || !record.content.some((block) => block.type === 'tool_result');
}

/** The readable text of a record's content. */
export function textOf(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content;
  return content
    .flatMap((block) => (block.type === 'text' && typeof block.text === 'string' ? [block.text] : []))
    .join('\n');
}

/** Whether the content of an answer has calls to tools that the gateway runs. */
export function hasCalls(content: AssistantRecord['content']): boolean {
  return typeof content !== 'string' && content.some(({ type }) => type === 'tool_use');
}
