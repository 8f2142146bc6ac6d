import { z } from 'zod';

const blocks = z.array(z.looseObject({ type: z.string() }));
const content = z.union([z.string(), blocks]);
const base = { v: z.literal(1), id: z.string(), at: z.string() };

const schema = z.discriminatedUnion('t', [
  z.object({
    ...base,
    t: z.literal('user'),
    content,
    /** The entry that this message came in with; absent for imports and tool results. */
    entry: z.string().optional(),
    /** Where it was written, in words. */
    channel: z.string().optional(),
    /** Who wrote it, where several people share a chat. */
    from: z.string().optional(),
  }),
  z.object({
    ...base,
    t: z.literal('assistant'),
    content,
    entry: z.string().optional(),
    model: z.string().optional(),
    stopReason: z.string().nullable().optional(),
    usage: z.object({ inputTokens: z.number(), outputTokens: z.number() }).optional(),
  }),
  /** A model's summary of everything before the window. */
  z.object({ ...base, t: z.literal('compaction'), summary: z.string(), records: z.number() }),
  /** The text that opens a fresh session, built by us from the old one. */
  z.object({ ...base, t: z.literal('seed'), text: z.string(), parent: z.string(), records: z.number() }),
  /** A message that the view shows as `text` instead; the message itself stays in the log. */
  z.object({ ...base, t: z.literal('scrub'), entry: z.string(), text: z.string() }),
]);

/** One item of a session log, version 1. Append-only; a compaction or a scrub changes the view, never the log. */
export type LogRecord = Readonly<z.infer<typeof schema>> | TornRecord;
/** Stands in memory for a line of the log that cannot be read; it keeps its place and is never shown. */
export interface TornRecord {
  readonly v: 1;
  readonly t: 'torn';
  readonly id: string;
  readonly at: string;
}
export type UserRecord = Extract<LogRecord, { t: 'user' }>;
export type AssistantRecord = Extract<LogRecord, { t: 'assistant' }>;
/** A block of a message's content, in the Messages API's shape. */
export type Block = z.infer<typeof blocks>[number];

const TORN: TornRecord = { v: 1, t: 'torn', id: '', at: '' };

/** Reads a record; never throws. A line that is malformed or of a version that we do not know becomes a torn record. */
export function decodeRecord(json: string): LogRecord {
  try {
    const parsed = schema.safeParse(JSON.parse(json));
    return parsed.success ? parsed.data : TORN;
  } catch {
    return TORN;
  }
}

/** A record as the log holds it. */
export function encodeRecord(record: LogRecord): string {
  return JSON.stringify(record);
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
