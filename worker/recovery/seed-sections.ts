import { redact } from '../../shared/base/text.ts';
import { type LogRecord, resultText, startsTurn, textOf, type UserRecord } from '../session/record.ts';
import { neutral, quote, speakerOf } from './transcript.ts';

/** A quoted part: the least important stands first. */
export interface Section {
  title: string;
  items: readonly string[];
}

const USER_MESSAGES = 5;
const USER_CHARS = 300;
const SPEAKER_CHARS = 120;
const ASSISTANT_REPLIES = 3;
const ASSISTANT_CHARS = 500;
const UNANSWERED_CHARS = 1_000;
const SUMMARY_CHARS = 6_000;
const TOOL_OUTCOMES = 8;
const TOOL_CHARS = 160;
const TOOL_NAME_CHARS = 64;
const TOOL_SCAN_CHARS = 2_000;
const NAMED_MAX = 20;
const REFERENCE_CHARS = 210;
const NAMED_SCAN_CHARS = 20_000;
const QUESTIONS_MAX = 5;
const REFERENCE =
  /https?:\/\/[^\s<>"')\]]{3,200}|(?:\.{0,2}\/)?(?:[\w.-]{1,60}\/){1,12}[\w.-]{1,80}|\b[\w-]{1,60}\.(?:ts|js|py|go|rs|java|md|json|ya?ml|csv|pdf|txt|sql|sh|log)\b|#\d{1,7}\b/g;

/** What a seed quotes of a conversation, in order of importance. */
export function sectionsOf(records: readonly LogRecord[]): Section[] {
  return [
    { title: 'Messages of the user that were not answered, newest last', items: unanswered(records) },
    { title: 'Last messages of the user, newest last', items: lastUser(records) },
    { title: 'Last replies of the assistant, newest last', items: lastAssistant(records) },
    { title: 'Files, links and ids named, newest last', items: named(records) },
    { title: 'Tool outcomes, newest last', items: toolOutcomes(records) },
    { title: 'Questions that the assistant asked last', items: openQuestions(records) },
    { title: 'Last summary of older parts', items: lastSummary(records) },
  ];
}

function asks(records: readonly LogRecord[]): UserRecord[] {
  return records.filter(
    (record): record is UserRecord => startsTurn(record) && textOf((record as UserRecord).content).trim() !== '',
  );
}

function lastUser(records: readonly LogRecord[]): string[] {
  return asks(records)
    .slice(-USER_MESSAGES)
    .map((record) => said(record, USER_CHARS));
}

/** What somebody wrote, with their name where several people share the chat. */
function said(record: UserRecord, maxChars: number): string {
  const text = quote(textOf(record.content), maxChars);
  return record.from ? `${quote(speakerOf(record), SPEAKER_CHARS)}: ${neutral(text)}` : text;
}

function lastAssistant(records: readonly LogRecord[]): string[] {
  return records
    .flatMap((record) => (record.t === 'assistant' ? [textOf(record.content)] : []))
    .filter((text) => text.trim() !== '')
    .slice(-ASSISTANT_REPLIES)
    .map((text) => quote(text, ASSISTANT_CHARS));
}

/** Asks after the last reply; tool calls and thinking are not replies. */
function unanswered(records: readonly LogRecord[]): string[] {
  const lastReply = records.findLastIndex((record) => record.t === 'assistant' && textOf(record.content).trim() !== '');
  return asks(records.slice(lastReply + 1))
    .slice(-USER_MESSAGES)
    .map((record) => said(record, UNANSWERED_CHARS));
}

/** From the newest backwards, within the scan's budget. */
function named(records: readonly LogRecord[]): string[] {
  const found = new Set<string>();
  let left = NAMED_SCAN_CHARS;
  for (const record of records.toReversed()) {
    if (record.t !== 'user' && record.t !== 'assistant') continue;
    const text = textOf(record.content).slice(0, left);
    left -= text.length;
    for (const [reference] of redact(text).matchAll(REFERENCE)) found.add(reference);
    if (left <= 0 || found.size >= NAMED_MAX) break;
  }
  return [...found]
    .slice(0, NAMED_MAX)
    .map((reference) => quote(reference, REFERENCE_CHARS))
    .toReversed();
}

function toolOutcomes(records: readonly LogRecord[]): string[] {
  const names = new Map<unknown, string>();
  const outcomes: string[] = [];
  for (const record of records) {
    if ((record.t !== 'user' && record.t !== 'assistant') || typeof record.content === 'string') continue;
    for (const block of record.content) {
      if (block.type === 'tool_use') names.set(block.id, typeof block.name === 'string' ? block.name : 'tool');
      if (block.type !== 'tool_result') continue;
      const name = quote(names.get(block.tool_use_id) ?? 'tool', TOOL_NAME_CHARS);
      const verdict = block.is_error === true ? 'failed' : 'returned';
      outcomes.push(`${name} ${verdict}: ${quote(resultText(block.content).slice(0, TOOL_SCAN_CHARS), TOOL_CHARS)}`);
    }
  }
  return outcomes.slice(-TOOL_OUTCOMES);
}

function openQuestions(records: readonly LogRecord[]): string[] {
  const last = records.findLast((record) => record.t === 'assistant');
  if (last?.t !== 'assistant') return [];
  const sentences =
    textOf(last.content)
      .slice(-4_000)
      .match(/[^.!?\n]{3,300}\?/g) ?? [];
  return sentences.slice(-QUESTIONS_MAX).map((sentence) => quote(sentence, USER_CHARS));
}

/** The newest summary that a model wrote, once. */
function lastSummary(records: readonly LogRecord[]): string[] {
  const compaction = records.findLast((record) => record.t === 'compaction');
  if (compaction?.t !== 'compaction') return [];
  return [quote(compaction.summary, SUMMARY_CHARS)];
}
