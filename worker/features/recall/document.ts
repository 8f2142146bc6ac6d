import { redact } from '../../../shared/base/redact.ts';
import { graphemePrefix } from '../../../shared/base/text.ts';
import { labelWithRef } from '../../media/label.ts';
import { type Block, nameInBrackets } from '../../model/block.ts';
import { withId, withoutCode } from '../../session/header-code.ts';
import { type AssistantRecord, type LogRecord, resultText, type UserRecord } from '../../session/record.ts';
import type { Search } from './search.ts';
import { snippet } from './snippet.ts';

/** The text of a record, as a search sees it. */
export interface Memory {
  id: string;
  /** ISO time. */
  at: string;
  /** A user's name, or "user", "assistant" or "tool". */
  who: string;
  text: string;
}

/** Opens every search result: a quote of history must not be found as history again. */
export const QUOTE_OPENING = '[Quoted from earlier in this chat';

const TEXT_CHARS = 56_000;
/** How much of a text is searched for credentials: enough that none is cut in half within the part that is searched. */
const READ_CHARS = 64_000;
const NAME_CHARS = 60;

/** The text of a message, tool calls and results included, at most 56,000 characters, as it was written. Pure. */
export function saidIn(record: UserRecord | AssistantRecord): string {
  return allSaidIn(record).slice(0, TEXT_CHARS);
}

/**
 * The text of a message as it may be quoted: as `saidIn` has it, without credentials; nothing for our own records, for
 * thinking, and where there is no text. Pure.
 */
export function memoryOf(record: LogRecord): Memory | undefined {
  if (record.t !== 'user' && record.t !== 'assistant') return undefined;
  const { id, at } = record;
  const text = graphemePrefix(redact(allSaidIn(record).slice(0, READ_CHARS).toWellFormed()), TEXT_CHARS);
  return text.trim() === '' ? undefined : { id, at, who: record.t === 'user' ? whoWrote(record) : 'assistant', text };
}

function allSaidIn(record: UserRecord | AssistantRecord): string {
  const { content } = withoutCode(record);
  return typeof content === 'string' ? content : content.flatMap((block) => wordsOf(block) ?? []).join('\n');
}

function whoWrote(record: UserRecord): string {
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

/** A place of a chat's history that matches a search. */
export interface Quote {
  /** `NaN` where its time is unknown. */
  atMs: number;
  /** A user's name, or "user", "assistant" or "tool". */
  who: string;
  /** On one line. */
  text: string;
}

const HITS_MAX = 8;
const SNIPPET_CHARS = 400;

/** The places that match a search best, best first, at most 8, without the message of an id. Pure. */
export function quotesIn(search: Search, shown: string | undefined): Quote[] {
  return search
    .best(HITS_MAX, (id) => id === shown)
    .map(({ memory: { at, who, text }, terms }) => ({
      atMs: Date.parse(at),
      who,
      text: snippet(text, terms, SNIPPET_CHARS),
    }));
}

/** A time to the minute, in UTC. Pure. */
export function minute(atMs: number): string {
  return Number.isNaN(atMs) ? 'undated' : `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
