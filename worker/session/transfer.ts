import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jsonValue } from '../../shared/base/fields.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../shared/redis/keys.ts';
import { applyTogether } from '../../shared/state/change.ts';
import { chatState, sessionOf } from '../../shared/state/chat/chat.ts';
import { sessionLogs } from '../../shared/state/session/log.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import { fill } from '../media/fill.ts';
import { type Block, wellFormed } from '../model/block.ts';
import { storable, uniqueCallId } from '../model/rules/blocks.ts';
import { findViolation, type WireRequest } from '../model/rules/validate.ts';
import { type OnUnreadable, readSegment, type SessionSource } from './archive.ts';
import { withoutCode } from './header-code.ts';
import { decodeRecord, encodeRecord, type LogRecord, startsTurn } from './record.ts';
import { newSessionId } from './store.ts';
import { viewWithOrigins } from './view.ts';

const line = z.looseObject({
  role: z.enum(['user', 'assistant'], { error: 'role must be "user" or "assistant"' }),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })).min(1)], {
    error: 'content must be a string or a list of Messages API blocks',
  }),
  at: z.iso.datetime({ offset: true, error: 'at must be an ISO time' }).optional(),
});

/** Thrown for a line that cannot be imported. Lines are counted from 1. */
export class BadLineError extends Error {
  override readonly name = 'BadLineError';
  constructor(lineNumber: number, problem: string) {
    super(`Line ${lineNumber}: ${problem}. Nothing was imported.`);
  }
}

/** Called during an import, with the number of records and bytes written so far. */
export type OnProgress = (records: number, bytes: number) => void;

const CHUNK = 500;

/** Reads one line of JSONL as a record. Throws `BadLineError` if the line is malformed. */
function parseLine(text: string, lineNumber: number, now: string): LogRecord {
  const raw = jsonValue(text);
  if (raw === undefined) throw new BadLineError(lineNumber, 'not JSON');
  const parsed = line.safeParse(raw);
  if (!parsed.success) throw new BadLineError(lineNumber, parsed.error.issues[0]?.message ?? 'malformed');
  const { role, content, at } = wellFormed(parsed.data);
  const blocks = typeof content === 'string' ? content : content.map(({ cache_control: _, ...block }): Block => block);
  return { v: 1, t: role, id: randomUUID(), at: at ?? now, content: blocks };
}

/**
 * Reads all lines of a file as records; skips blank lines. Throws `BadLineError` for a file without records, the first
 * malformed line, or a record that would later break a rule of the API. All lines are checked before any record is written.
 */
export async function parseLines(lines: AsyncIterable<string> | Iterable<string>): Promise<LogRecord[]> {
  const now = new Date().toISOString();
  const records: LogRecord[] = [];
  const lineNumbers = new Map<string, number>();
  let lineNumber = 0;
  for await (const text of lines) {
    lineNumber += 1;
    if (text.trim() === '') continue;
    const record = parseLine(text, lineNumber, now);
    lineNumbers.set(record.id, lineNumber);
    records.push(record);
  }
  if (records.length === 0) throw new BadLineError(lineNumber, 'the file holds no record');
  const result = withOwnIds(records);
  const starts = result.flatMap((record, at) => (startsTurn(record) ? [at] : []));
  for (const [at, from] of starts.entries()) {
    const violation = findBrokenRule(result.slice(from, starts[at + 1]));
    if (violation)
      throw new BadLineError(lineNumbers.get(violation.record) ?? 0, `the rule ${violation.rule} is broken`);
  }
  return result;
}

/** Replaces ids that the API would reject or that are not unique, in the tool calls and in their results. */
function withOwnIds(records: readonly LogRecord[]): LogRecord[] {
  const allIds = new Set<unknown>();
  let ids = new Map<unknown, string>();
  return records.map((record) => {
    if ((record.t !== 'user' && record.t !== 'assistant') || typeof record.content === 'string') return record;
    if (record.t === 'user') {
      const idOf = (block: Block) => ids.get(block.tool_use_id) ?? block.tool_use_id;
      const content = record.content.map((block) =>
        block.type === 'tool_result' ? { ...block, tool_use_id: idOf(block) } : block,
      );
      return { ...record, content };
    }
    const calls = record.content.filter(({ type }) => type === 'tool_use');
    ids = new Map(calls.map(({ id }) => [id, uniqueCallId(id, allIds)]));
    for (const id of ids.values()) allIds.add(id);
    const content = record.content.map((block) =>
      block.type === 'tool_use' ? { ...block, id: ids.get(block.id) } : block,
    );
    return { ...record, content: storable(content) };
  });
}

/** The rule of the API that a turn's records break in the request of the next message, if any, and the record at fault. */
function findBrokenRule(turn: readonly LogRecord[]): { rule: string; record: string } | undefined {
  const next: LogRecord = { v: 1, t: 'user', id: '', at: '', content: 'next' };
  const { messages, origins } = viewWithOrigins({ head: undefined, records: [...turn, next], omitted: 0 });
  // A real request contains stored files in place of the references to them. Replace the references here, too.
  const wire = { model: 'any', max_tokens: 1, messages: fill(messages, new Map()) } as unknown as WireRequest;
  const violation = findViolation(wire, {});
  if (violation === undefined) return undefined;
  const [, at, index] = /^messages\.(\d+)\.content\.(\d+)/.exec(violation.path) ?? [];
  const origin = origins.get(messages[Number(at)]?.content[Number(index)]);
  return { rule: violation.rule, record: origin?.record.id ?? turn[0]?.id ?? '' };
}

/**
 * Writes records as a new session and binds the chat to it; closes the chat's previous session, which becomes the parent. If
 * the import is interrupted, the chat does not change, and the written records expire.
 */
export async function importSession(
  redis: RedisClient,
  keys: Keys,
  chat: ChatKey,
  records: readonly LogRecord[],
  onProgress: OnProgress = () => {},
): Promise<SessionId> {
  const session = newSessionId();
  const state = sessionState(keys, session);
  let bytes = 0;
  for (let at = 0; at < records.length; at += CHUNK) {
    const lines = records.slice(at, at + CHUNK).map(encodeRecord);
    bytes += lines.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    await applyTogether(redis, state.stage(lines));
    onProgress(Math.min(at + CHUNK, records.length), bytes);
  }
  const parent = await sessionOf(redis, keys, chat);
  await applyTogether(redis, [
    state.begin(parent, new Date().toISOString()),
    ...state.finishImport(records.length, bytes),
    chatState(keys, chat).moveTo(session),
    ...(parent === undefined ? [] : sessionState(keys, parent).closeFor(session)),
  ]);
  return session;
}

/**
 * Reads the records of a session, oldest first: each exactly once, even while the archivist moves records. Reports and skips
 * damaged segments.
 */
export async function* readSession(
  source: SessionSource,
  session: SessionId,
  onUnreadable: OnUnreadable = () => {},
): AsyncGenerator<LogRecord> {
  const logs = sessionLogs(source.redis, source.keys);
  let next = 0;
  let segment = 0;
  /** The index of the first record of `segment`. A segment that is archived meanwhile begins where the log began before. */
  let segmentStart = 0;
  for (;;) {
    const { archived, segments, lines } = await logs.range(session, next);
    for (; next < archived && segment < segments; segment++) {
      const archivedLines = (await readSegment(source, session, segment, onUnreadable)) ?? [];
      for (const line of archivedLines.slice(next - segmentStart)) yield decodeRecord(line.toString());
      segmentStart += archivedLines.length;
      next = Math.max(next, segmentStart);
    }
    [segment, segmentStart, next] = [segments, archived, Math.max(next, archived) + lines.length];
    for (const line of lines) yield decodeRecord(line.toString());
    if (lines.length === 0) return;
  }
}

/** A record as a line that `parseLine` can read; `undefined` for records that only shape the view. */
export function exportLine(record: LogRecord): string | undefined {
  if (record.t !== 'user' && record.t !== 'assistant') return undefined;
  const { t: role, content, v, ...rest } = withoutCode(record);
  return JSON.stringify({ role, content, ...rest });
}
