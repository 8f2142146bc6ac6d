import { redact } from '../../../shared/base/redact.ts';
import { graphemePrefix } from '../../../shared/base/text.ts';
import { labelWithRef } from '../../media/label.ts';
import { type Block, nameInBrackets } from '../../model/block.ts';
import { withId, withoutCode } from '../../session/header-code.ts';
import { type AssistantRecord, type LogRecord, resultText, type UserRecord } from '../../session/record.ts';
import type { Search } from './search.ts';
import { snippet } from './snippet.ts';

/** The text of a record, without credentials. */
export interface QuotableText {
  id: string;
  /** The time of the record, as an ISO text. */
  at: string;
  /** A user's name, with their id if known; or "user", "assistant" or "tool". */
  who: string;
  text: string;
}

/** Each search result with quotes begins with this text, so that later searches can skip earlier results. */
export const QUOTE_OPENING = '[Quoted from earlier in this chat';

const TEXT_CHARS = 56_000;
/** Redaction reads more than `TEXT_CHARS`, so that it recognises a credential that the cut would halve. */
const REDACTED_CHARS = 64_000;
const NAME_CHARS = 60;

/** The first 56,000 characters of a message, with tool calls, tool results (except those of searches) and credentials. Pure. */
export function searchableText(record: UserRecord | AssistantRecord): string {
  return fullText(record).slice(0, TEXT_CHARS);
}

/**
 * The text of a message for a quote: like `searchableText`, but without credentials. Undefined for records that are not
 * messages, and for messages without text, e.g. with only thinking. Pure.
 */
export function quotableText(record: LogRecord): QuotableText | undefined {
  if (record.t !== 'user' && record.t !== 'assistant') return undefined;
  const { id, at } = record;
  const text = graphemePrefix(redact(fullText(record).slice(0, REDACTED_CHARS).toWellFormed()), TEXT_CHARS);
  return text.trim() === '' ? undefined : { id, at, who: record.t === 'user' ? authorOf(record) : 'assistant', text };
}

function fullText(record: UserRecord | AssistantRecord): string {
  const { content } = withoutCode(record);
  return typeof content === 'string' ? content : content.flatMap((block) => wordsOf(block) ?? []).join('\n');
}

function authorOf(record: UserRecord): string {
  const { content, from } = record;
  if (typeof content !== 'string' && content.some((block) => block.type === 'tool_result')) return 'tool';
  const name = graphemePrefix(nameInBrackets(from?.toWellFormed() ?? ''), NAME_CHARS);
  return name === '' ? 'user' : withId(name, record);
}

function wordsOf(block: Block): string | undefined {
  if (block.type === 'text') return typeof block.text === 'string' ? block.text : undefined;
  if (block.type === 'image' || block.type === 'document') return `[${labelWithRef(block)}]`;
  if (block.type === 'tool_use') return `${block.name} ${JSON.stringify(block.input ?? {})}`;
  if (block.type !== 'tool_result') return undefined;
  const text = resultText(block.content);
  return text.startsWith(QUOTE_OPENING) ? undefined : text;
}

/** A snippet of a chat's history that matches a search. */
export interface Quote {
  /** The time of the message in ms since the epoch; `NaN` if unknown. */
  atMs: number;
  /** A user's name, with their id if known; or "user", "assistant" or "tool". */
  who: string;
  /** The snippet, on one line. */
  text: string;
}

const HITS_MAX = 8;
const SNIPPET_CHARS = 400;

/** Quotes of the best matches of a search, at most 8, best first. Omits the message `exceptId`. Pure. */
export function quotesIn(search: Search, exceptId: string | undefined): Quote[] {
  return search
    .best(HITS_MAX, (id) => id === exceptId)
    .map(({ message: { at, who, text }, terms }) => ({
      atMs: Date.parse(at),
      who,
      text: snippet(text, terms, SNIPPET_CHARS),
    }));
}

/** A time to the minute, in UTC; "undated" for `NaN`. Pure. */
export function minute(atMs: number): string {
  return Number.isNaN(atMs) ? 'undated' : `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
