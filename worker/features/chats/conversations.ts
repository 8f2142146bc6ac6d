import { clip, isBlank } from '../../../shared/base/text.ts';
import type { SessionId } from '../../../shared/redis/keys.ts';
import type { Change } from '../../../shared/state/change.ts';
import { chatState } from '../../../shared/state/chat/chat.ts';
import { chainOf, endsOfLog, readHeader } from '../../../shared/state/session/header.ts';
import { conversation, sessionMemory, sessionState } from '../../../shared/state/session/session.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Env } from '../../env.ts';
import type { SessionSource } from '../../session/archive.ts';
import { withoutCode } from '../../session/header-code.ts';
import { decodeRecord, textOf } from '../../session/record.ts';
import { readSession } from '../../session/transfer.ts';
import { plainLine } from '../memory/memory.ts';

const WORDS_CHARS_MAX = 80;

/** One of a chat's conversations, with its times in ms since the epoch. */
export interface Conversation {
  session: SessionId;
  /** Its name or, without one, the beginning of its first message with words; empty if there are none. */
  words: string;
  messages: number;
  fromMs: number;
  toMs: number;
}

/**
 * The sessions of the turn's chat in which somebody has said something, the present one first, then the others by the time at
 * which they were left, the newest first. Rejects when Redis cannot be reached.
 */
export async function conversationsOf({ env, session }: Turn<Env>): Promise<SessionId[]> {
  const chain = await chainOf(env.redis, env.keys, session);
  const headers = await Promise.all(chain.map((each) => readHeader(env.redis, env.keys, each)));
  return chain.filter((_, at) => (headers[at]?.entries ?? 0) > 0);
}

/** Describes a conversation. Rejects when Redis or the blob store is unavailable. */
export async function describe(source: SessionSource, session: SessionId): Promise<Conversation> {
  const { stored, entries, createdAt } = await readHeader(source.redis, source.keys, session);
  const { newest } = await endsOfLog(source.redis, source.keys, session, 1);
  const first = await firstWords(source, session);
  const to = newest.map(decodeRecord)[0]?.at || first.at;
  const words = stored.name ?? clip(plainLine(first.words), WORDS_CHARS_MAX);
  return { session, words, messages: entries, fromMs: Date.parse(createdAt ?? first.at), toMs: Date.parse(to) };
}

async function firstWords(source: SessionSource, session: SessionId): Promise<{ words: string; at: string }> {
  let at = '';
  for await (const record of readSession(source, session)) {
    at ||= record.at;
    const words = record.t === 'user' ? textOf(withoutCode(record).content) : '';
    if (!isBlank(words)) return { words, at };
  }
  return { words: '', at };
}

/**
 * The changes that continue a conversation: the chat moves there, and the one that it leaves comes next in the list. Drops the
 * conversation's copy of the chat's memory, which may contain what people have deleted since. `undefined` if the chat has no
 * such conversation, nobody has said anything in it, or the chat is in it.
 */
export async function changesToContinue(turn: Turn<Env>, to: SessionId): Promise<Change[] | undefined> {
  const { keys, chat, session, env } = turn;
  const chain = await chainOf(env.redis, keys, session);
  const newerNeighbour = chain[chain.indexOf(to) - 1];
  const { parent, entries } = await readHeader(env.redis, keys, to);
  if (newerNeighbour === undefined || entries === 0) return undefined;
  return [
    conversation(keys, newerNeighbour).setParent(parent),
    conversation(keys, to).setParent(session),
    ...conversation(keys, to).reopen(),
    sessionMemory(keys, to).renew(),
    ...sessionState(keys, session).closeFor(to),
    chatState(keys, chat).moveTo(to),
  ];
}
