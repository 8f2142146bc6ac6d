import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jsonValue } from '../../shared/base/fields.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../shared/redis/keys.ts';
import { applyTogether } from '../../shared/state/change.ts';
import { chatState, sessionOf } from '../../shared/state/chat/chat.ts';
import { sessionLogs } from '../../shared/state/session/log.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import { type OnUnreadable, readSegment, type SessionSource } from './archive.ts';
import { withoutCode } from './header-code.ts';
import { decodeRecord, encodeRecord, type LogRecord } from './record.ts';
import { newSessionId } from './store.ts';

const line = z.looseObject({
  role: z.enum(['user', 'assistant'], { error: 'role must be "user" or "assistant"' }),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })).min(1)], {
    error: 'content must be a string or a list of Messages API blocks',
  }),
  at: z.iso.datetime({ offset: true, error: 'at must be an ISO time' }).optional(),
});

/** A line that cannot be imported, by its number in the file, counted from 1. */
export class BadLineError extends Error {
  override readonly name = 'BadLineError';
  constructor(lineNumber: number, problem: string) {
    super(`Line ${lineNumber}: ${problem}. Nothing was imported.`);
  }
}

/** Called from time to time while many records are moved. */
export type OnProgress = (records: number, bytes: number) => void;

const CHUNK = 500;

/** Reads one line of JSONL as a record; throws `BadLineError`. */
export function parseLine(text: string, lineNumber: number, now: string): LogRecord {
  const raw = jsonValue(text);
  if (raw === undefined) throw new BadLineError(lineNumber, 'not JSON');
  const parsed = line.safeParse(raw);
  if (!parsed.success) throw new BadLineError(lineNumber, parsed.error.issues[0]?.message ?? 'malformed');
  const { role, content, at } = parsed.data;
  return { v: 1, t: role, id: randomUUID(), at: at ?? now, content };
}

/** Reads all lines of a file; skips blank ones. Checks all of them before anything is written. */
export async function parseLines(lines: AsyncIterable<string> | Iterable<string>): Promise<LogRecord[]> {
  const now = new Date().toISOString();
  const records: LogRecord[] = [];
  let lineNumber = 0;
  for await (const text of lines) {
    lineNumber += 1;
    if (text.trim() !== '') records.push(parseLine(text, lineNumber, now));
  }
  if (records.length === 0) throw new BadLineError(lineNumber, 'the file holds no record');
  return records;
}

/**
 * Writes records as a new session and binds the chat to it; closes the chat's previous session, which becomes the
 * parent. An interrupted run leaves the chat as it was, and its records expire.
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
 * The records of a session in order, archived ones first, read in pieces: each exactly once, even while the archivist
 * is at work. A damaged segment is reported and skipped.
 */
export async function* readSession(
  source: SessionSource,
  session: SessionId,
  onUnreadable: OnUnreadable = () => {},
): AsyncGenerator<LogRecord> {
  const logs = sessionLogs(source.redis, source.keys);
  let next = 0;
  let segment = 0;
  /** Index of that segment's first record: segments that appear later begin where the log began before. */
  let begins = 0;
  for (;;) {
    const { archived, segments, lines } = await logs.range(session, next);
    for (; next < archived && segment < segments; segment++) {
      const packed = (await readSegment(source, session, segment, onUnreadable)) ?? [];
      for (const line of packed.slice(next - begins)) yield decodeRecord(line.toString());
      begins += packed.length;
      next = Math.max(next, begins);
    }
    [segment, begins, next] = [segments, archived, Math.max(next, archived) + lines.length];
    for (const line of lines) yield decodeRecord(line.toString());
    if (lines.length === 0) return;
  }
}

/** A record as a line that `parseLine` reads back; undefined for records that only shape the view. */
export function exportLine(record: LogRecord): string | undefined {
  if (record.t !== 'user' && record.t !== 'assistant') return undefined;
  const { t: role, content, v, ...rest } = withoutCode(record);
  return JSON.stringify({ role, content, ...rest });
}
