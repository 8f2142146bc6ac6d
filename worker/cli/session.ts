import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { redisAddressOf } from '../../shared/base/redis-address.ts';
import { clip } from '../../shared/base/text.ts';
import { type ChatKey, type Keys, keysOf, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import { notedStoreId } from '../../shared/state/blob/binding.ts';
import { applyTogether } from '../../shared/state/change.ts';
import { readChatFields, sessionOf } from '../../shared/state/chat/chat.ts';
import { removeErasedText } from '../../shared/state/chat/erasures.ts';
import { forgetUnlessUnderWay } from '../../shared/state/message/inbound.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import { endsOfLog, readHeader } from '../../shared/state/session/header.ts';
import type { BlobStore, Blobs } from '../blob/blobs.ts';
import { openBlobStore } from '../blob/store.ts';
import { createChatArchive } from '../command/chat-archive.ts';
import { createMediaStore } from '../media/store.ts';
import type { ReportSource } from '../report/report.ts';
import { decodeRecord, type LogRecord, textOf } from '../session/record.ts';
import { emptySession, newSessionId } from '../session/store.ts';
import { exportLine, importSession, parseLines, readSession } from '../session/transfer.ts';
import { UsageError } from './terminal.ts';
import { type Call, type Ground, withRedis } from './verb.ts';

const SHOWN_RECORDS = 6;
const SHOWN_CHARS = 160;
const REWRITE_MS = 60_000;

/** The chat whose session a verb is about, and what stores it. */
interface SessionGround extends Ground {
  chat: ChatKey;
  keys: Keys;
  store: BlobStore | undefined;
  shard: number;
}

function withChat({ words, terminal }: Call, work: (ground: SessionGround) => Promise<number>): Promise<number> {
  const { chat, chatId } = parseChatKey(words[0] ?? '') as NonNullable<ReturnType<typeof parseChatKey>>;
  return withRedis(terminal, (ground) => {
    const shard = shardOf(chatId, ground.shards);
    return work({ ...ground, chat, shard, keys: keysOf(shard), store: openBlobStore(ground.config.BLOB_URL) });
  });
}

/** Binds the chat to the records of a file or of standard input. */
export async function importAll(call: Call): Promise<number> {
  const { words, terminal, attribution } = call;
  const [, file] = words;
  if (file !== undefined) await access(file).catch(() => Promise.reject(new UsageError(`${file} cannot be read.`)));
  return withChat(call, async ({ redis, keys, chat }) => {
    const input = file === undefined ? terminal.input : createReadStream(file);
    const records = await parseLines(createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }));
    await recordAction(redis, 'import', chat, attribution);
    let shownAtMs = Date.now();
    const id = await importSession(redis, keys, chat, records, (done, bytes) => {
      if (Date.now() - shownAtMs < 500 && done < records.length) return;
      shownAtMs = Date.now();
      terminal.note(`${done} of ${records.length} records, ${(bytes / 1e6).toFixed(1)} MB`);
    });
    call.print({ session: id, records: records.length }, () => {
      return `Chat ${chat} is bound to session ${id}: ${records.length} records.`;
    });
    return 0;
  });
}

/** Writes the session as JSON lines. */
export async function exportAll(call: Call): Promise<number> {
  const { terminal } = call;
  return withChat(call, async ({ redis, keys, store, shard, chat }) => {
    const id = await boundSession({ redis, keys, chat });
    let written = 0;
    const onUnreadable = (segment: number) =>
      terminal.note(`segment ${segment} of the archive is damaged and left out`);
    for await (const record of readSession({ redis, keys, blobs: store?.blobsOf(shard) }, id, onUnreadable)) {
      if (!terminal.isRead()) break;
      const text = exportLine(record);
      if (text === undefined) continue;
      terminal.line(text);
      written += 1;
      if (written % 5_000 === 0) terminal.note(`${written} records`);
    }
    return 0;
  });
}

/** Prints what the session is made of, with the beginnings of its newest records. */
export async function show(call: Call): Promise<number> {
  return withChat(call, async ({ redis, keys, chat }) => {
    const id = await boundSession({ redis, keys, chat });
    const { records, bytes, windowStart, parent, limitTokens, stored } = await readHeader(redis, keys, id);
    const newest = call.isJson ? [] : (await endsOfLog(redis, keys, id, SHOWN_RECORDS)).newest.map(decodeRecord);
    call.print({ chat, session: id, ...stored, records }, () =>
      [
        `Chat ${chat}, session ${id}`,
        `${records} records, ${(bytes / 1e6).toFixed(2)} MB, window from record ${windowStart}`,
        ...(parent === undefined ? [] : [`continues session ${parent}`]),
        ...(limitTokens === undefined ? [] : [`known window: ${limitTokens} tokens`]),
        ...newest.map(beginningOf),
      ].join('\n'),
    );
    return 0;
  });
}

function beginningOf(record: LogRecord): string {
  const { t, at, content, text, summary } = record as {
    t: string;
    at: string;
    content?: never;
    text?: string;
    summary?: string;
  };
  const said = content === undefined ? (text ?? summary ?? '') : textOf(content);
  return `  ${at} ${t}: ${clip(said.replace(/\s+/g, ' '), SHOWN_CHARS)}`;
}

/** Binds the chat to an empty session. */
export async function reset(call: Call): Promise<number> {
  return withChat(call, async ({ redis, keys, chat }) => {
    const parent = await boundSession({ redis, keys, chat });
    const session = newSessionId();
    await recordAction(redis, 'reset', chat, call.attribution);
    await applyTogether(redis, emptySession(keys, chat, parent, session));
    call.print({ chat, session, parent }, () => `Chat ${chat} begins anew in session ${session}; ${parent} is kept.`);
    return 0;
  });
}

/** Erases all of the chat; the exit code is 1 while messages of it wait, or when a person in a terminal says no. */
export async function forget(call: Call): Promise<number> {
  if (call.options.yes === undefined && !(await isConfirmed(call))) return 1;
  return withChat(call, async ({ redis, config, shards, store, shard, keys, chat }) => {
    const noted = await notedStoreId(redis);
    // With another store the bytes would stay, and the chat be told to be erased.
    if (noted !== undefined && noted !== (await store?.readId()))
      throw new Error('BLOB_URL is not the store that the data in Redis refers to. Nothing was erased.');
    const underWay = await forgetChat({ redis, shards, blobs: store?.blobsOf(shard) }, chat, call.attribution);
    const isPrivate = redisAddressOf(config) === undefined;
    await removeErasedText(redis, keys, isPrivate, AbortSignal.timeout(REWRITE_MS)).catch(() =>
      call.terminal.note('The erased text is still in the files of the private Redis. A gateway that runs removes it.'),
    );
    const todo = `End them (npm run cli -- cancel ${chat}), then run this again.`;
    call.print({ chat, forgotten: underWay === 0, underWay }, () => {
      if (underWay === 0) return `All of chat ${chat} is erased.`;
      return `Chat ${chat} is not erased: ${underWay} of its messages have not been answered yet. ${todo}`;
    });
    return underWay === 0 ? 0 : 1;
  });
}

/**
 * Erases all of a chat, as its people do with `/forget`, whether a gateway runs or not. Returns how many of its messages
 * wait or are being answered: where there are any, not all is erased, and the chat goes on as it was.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now. Idempotent; who is killed in between has erased
 * a part, and the same call erases the rest.
 */
async function forgetChat(
  at: ReportSource & { blobs: Blobs | undefined },
  named: ChatKey,
  attribution: Attribution,
): Promise<number> {
  const { redis, shards, blobs } = at;
  const keys = keysOf(shardOf(parseChatKey(named)?.chatId ?? 0, shards));
  // A group that became a supergroup has its conversation there.
  const chat = (await readChatFields(redis, keys, named))?.movedTo ?? named;
  await recordAction(redis, 'forget', chat, attribution);
  const underWay = await forgetUnlessUnderWay(redis, keys, chat, []);
  if (underWay > 0) return underWay;
  // Nothing is kept, so no retention counts.
  const media = createMediaStore({ redis, keys, blobs, retentionDays: 1 });
  const last = await createChatArchive({ redis, keys, blobs, media }).erase(chat, Date.now());
  return forgetUnlessUnderWay(redis, keys, chat, last);
}

/** Asks the person in the terminal. Throws `UsageError` where there is none. */
async function isConfirmed({ terminal, words }: Call): Promise<boolean> {
  const { input } = terminal;
  if (!('isTTY' in input) || !input.isTTY) throw new UsageError('session forget erases a chat for good: add --yes.');
  terminal.note(`This erases all of chat ${words[0]} for good. Type yes to go on:`);
  const lines = createInterface({ input });
  const [answer] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  lines.close();
  const isYes = String(answer).trim().toLowerCase() === 'yes';
  if (!isYes) terminal.note('Nothing was erased.');
  return isYes;
}

async function boundSession({ redis, keys, chat }: Pick<SessionGround, 'redis' | 'keys' | 'chat'>): Promise<SessionId> {
  const session = await sessionOf(redis, keys, chat);
  if (session === undefined) throw new Error(`Chat ${chat} has no session yet.`);
  return session;
}
