import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { redisAddressOf } from '../../shared/base/redis-address.ts';
import { keysOf, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import { boundStoreId } from '../../shared/state/blob/binding.ts';
import { readChatFields, sessionOf } from '../../shared/state/chat/chat.ts';
import { removeErasedText } from '../../shared/state/chat/erasures.ts';
import type { BlobStore } from '../blob/blobs.ts';
import { openBlobStore } from '../blob/store.ts';
import { createChatArchive } from '../command/chat-archive.ts';
import { FEATURES } from '../features.ts';
import { createMediaStore } from '../media/store.ts';
import { ACTS } from '../operator/acts.ts';
import type { StoredChat } from '../operator/sessions.ts';
import { exportLine, parseLines, readSession } from '../session/transfer.ts';
import { runHere } from './act.ts';
import { UsageError } from './terminal.ts';
import { type Call, type Ground, withRedis } from './verb.ts';

const REWRITE_MS = 60_000;

/** The chat whose session a verb is about, and what stores it. */
interface SessionGround extends Ground, StoredChat {
  store: BlobStore | undefined;
  shard: number;
}

function withChat({ words, terminal }: Call, work: (ground: SessionGround) => Promise<number>): Promise<number> {
  const { chat, chatId } = parseChatKey(words[0] ?? '') as NonNullable<ReturnType<typeof parseChatKey>>;
  return withRedis(terminal, (ground) => {
    const shard = shardOf(chatId, ground.shards);
    const subject = { id: chat, title: `Chat ${chat}`, chat, keys: keysOf(shard) };
    return work({ ...ground, ...subject, shard, store: openBlobStore(ground.settings.BLOB_URL) });
  });
}

export async function importAll(call: Call): Promise<number> {
  const { words, terminal } = call;
  const [, file] = words;
  if (file !== undefined) await access(file).catch(() => Promise.reject(new UsageError(`${file} cannot be read.`)));
  return withChat(call, async (ground) => {
    const input = file === undefined ? terminal.input : createReadStream(file);
    const records = await parseLines(createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }));
    let shownAtMs = Date.now();
    const onProgress = (done: number, bytes: number) => {
      if (Date.now() - shownAtMs < 500 && done < records.length) return;
      shownAtMs = Date.now();
      terminal.note(`${done} of ${records.length} records, ${(bytes / 1e6).toFixed(1)} MB`);
    };
    const { details, text } = await runHere(call, ground, ACTS.import, { ...ground, records, onProgress });
    call.print(details, () => `${text}.`);
    return 0;
  });
}

export async function exportAll(call: Call): Promise<number> {
  const { terminal } = call;
  return withChat(call, async ({ redis, keys, store, shard, chat }) => {
    const id = await boundSession({ redis, keys, chat });
    const onUnreadable = (segment: number) =>
      terminal.note(`segment ${segment} of the archive is damaged and left out`);
    for await (const record of readSession({ redis, keys, blobs: store?.blobsOf(shard) }, id, onUnreadable)) {
      if (!terminal.isRead()) break;
      const text = exportLine(record);
      if (text !== undefined) terminal.line(text);
    }
    return 0;
  });
}

export async function reset(call: Call): Promise<number> {
  return withChat(call, async (ground) => {
    const parent = await boundSession(ground);
    const { details, text } = await runHere(call, ground, ACTS.reset, { ...ground, parent });
    call.print({ chat: ground.chat, ...details }, () => `${text}.`);
    return 0;
  });
}

/** Erases all of the chat; the exit code is 1 while messages of it wait, or when a person in a terminal says no. */
export async function forget(call: Call): Promise<number> {
  if (call.options.yes === undefined && !(await isConfirmed(call))) return 1;
  return withChat(call, async (ground) => {
    const { redis, settings, store, shard, keys, ...rest } = ground;
    const noted = await boundStoreId(redis);
    // With another store the bytes would stay, although the chat is called erased.
    if (noted !== undefined && noted !== (await store?.readId()))
      throw new Error('BLOB_URL is not the store that the data in Redis refers to. Nothing was erased.');
    // A group that became a supergroup has its conversation there.
    const chat = (await readChatFields(redis, keys, rest.chat))?.movedTo ?? rest.chat;
    const source = { redis, keys, blobs: store?.blobsOf(shard) };
    // The store only erases here, so its retention has no effect.
    const archive = createChatArchive(
      source,
      createMediaStore({ ...source, retentionDays: 1 }),
      FEATURES.flatMap(({ changesToErase }) => changesToErase ?? []),
    );
    const subject = { id: chat, title: `Chat ${chat}`, chat, keys, archive };
    const { details, effect, text } = await runHere(call, ground, ACTS.forget, subject);
    const isPrivate = redisAddressOf(settings) === undefined;
    await removeErasedText(redis, keys, isPrivate, AbortSignal.timeout(REWRITE_MS)).catch(() =>
      call.terminal.note('The erased text is still in the files of the private Redis. A gateway that runs removes it.'),
    );
    call.print({ chat: rest.chat, ...details }, () => `${text}.`);
    return effect === 'failed' ? 1 : 0;
  });
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
