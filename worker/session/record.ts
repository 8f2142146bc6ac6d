/** A block of a message's content, in the Messages API's shape. */
export interface Block {
  type: string;
  [key: string]: unknown;
}

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
  /** The entry that this message came in with; absent for imports and tool results. */
  readonly entry?: string;
  /** Where it was written, in words. */
  readonly channel?: string;
  /** Who wrote it, where several people share a chat. */
  readonly from?: string;
}

export interface AssistantRecord extends Base {
  readonly t: 'assistant';
  /** Verbatim as received. */
  readonly content: Content;
  readonly entry?: string;
  readonly model?: string;
  readonly stopReason?: string | null;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
}

/** A model's summary of everything before the window. */
export interface CompactionRecord extends Base {
  readonly t: 'compaction';
  readonly summary: string;
  /** Index in the log of the first record that the summary does not cover. */
  readonly records: number;
}

/** The text that opens a fresh session, built by us from the old one. */
export interface SeedRecord extends Base {
  readonly t: 'seed';
  readonly text: string;
  readonly parent: string;
  readonly records: number;
}

/** A message that the view shows as `text` instead; the message itself stays in the log. */
export interface ScrubRecord extends Base {
  readonly t: 'scrub';
  readonly entry: string;
  readonly text: string;
}

/** One item of a session log, version 1. Append-only; a compaction or a scrub changes the view, never the log. */
export type LogRecord = UserRecord | AssistantRecord | CompactionRecord | SeedRecord | ScrubRecord | TornRecord;
/** Stands in memory for a line of the log that cannot be read; it keeps its place and is never shown. */
export interface TornRecord {
  readonly v: 1;
  readonly t: 'torn';
  readonly id: string;
  readonly at: string;
}

const TORN: TornRecord = { v: 1, t: 'torn', id: '', at: '' };

/** Reads a record; never throws. A line that is malformed or of a version that we do not know becomes a torn record. */
export function decodeRecord(json: string): LogRecord {
  try {
    const record = JSON.parse(json) as Partial<Record<string, unknown>> | null;
    return record !== null && record.v === 1 && hasShape(record) ? (record as unknown as LogRecord) : TORN;
  } catch {
    return TORN;
  }
}

/** A window is read on every turn, so the shape is checked by hand: a schema library costs more than the turn itself. */
function hasShape(record: Partial<Record<string, unknown>>): boolean {
  if (typeof record.id !== 'string' || typeof record.at !== 'string') return false;
  if (record.t === 'user' || record.t === 'assistant')
    return isContent(record.content) && [record.entry, record.channel, record.from].every(isTextOrAbsent);
  if (record.t === 'compaction') return typeof record.summary === 'string';
  if (record.t === 'seed') return typeof record.text === 'string';
  return record.t === 'scrub' && typeof record.entry === 'string' && typeof record.text === 'string';
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function isContent(content: unknown): boolean {
  if (typeof content === 'string') return true;
  return Array.isArray(content) && content.every((block) => typeof (block as Block | null)?.type === 'string');
}

/** A record as the log holds it. */
export function encodeRecord(record: LogRecord): string {
  return JSON.stringify(record);
}

/** The records as the view shows them: a scrubbed message holds the text that stands for it, the newest one. */
export function withScrubs(records: readonly LogRecord[]): readonly LogRecord[] {
  const texts = new Map(records.flatMap((record) => (record.t === 'scrub' ? [[record.entry, record.text]] : [])));
  if (texts.size === 0) return records;
  return records.map((record) => {
    const content = record.t === 'user' && record.entry !== undefined ? texts.get(record.entry) : undefined;
    return content === undefined ? record : ({ ...record, content } as UserRecord);
  });
}

/** A writer's name inside brackets of ours: on one line, and without brackets that could close them. */
export function nameInBrackets(name: string): string {
  return name.replace(/[\s[\]]+/g, ' ').trim();
}

/** The readable text of a tool's result; what is no text is named. */
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

/** Whether a record is a message of the conversation, and not one of ours that shapes the view. */
export function isEntry(record: LogRecord): boolean {
  return record.t === 'user' || record.t === 'assistant';
}

/** Whether a user's turn starts here: something that a person wrote, not the results of tools. */
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
