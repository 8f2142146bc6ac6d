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
import type { ReportContext } from '../report/report.ts';
import { exportLine, parseLines, readSession } from '../session/transfer.ts';
import { runFromTerminal } from './act.ts';
import { UsageError } from './terminal.ts';
import { type Call, withRedis } from './verb.ts';

const REWRITE_MS = 60_000;

/** The chat that the verb names, with its shard and the blob store. */
interface SessionContext extends ReportContext, StoredChat {
  store: BlobStore | undefined;
  shard: number;
}

function withChat({ words, terminal }: Call, work: (context: SessionContext) => Promise<number>): Promise<number> {
  const { chat, chatId } = parseChatKey(words[0] ?? '') as NonNullable<ReturnType<typeof parseChatKey>>;
  return withRedis(terminal, (context) => {
    const shard = shardOf(chatId, context.shards);
    const subject = { id: chat, title: `Chat ${chat}`, chat, keys: keysOf(shard) };
    return work({ ...context, ...subject, shard, store: openBlobStore(context.settings.BLOB_URL) });
  });
}

export async function importAll(call: Call): Promise<number> {
  const { words, terminal } = call;
  const [, file] = words;
  if (file !== undefined) await access(file).catch(() => Promise.reject(new UsageError(`${file} cannot be read.`)));
  return withChat(call, async (context) => {
    const input = file === undefined ? terminal.input : createReadStream(file);
    const records = await parseLines(createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }));
    let lastNoteMs = Date.now();
    const onProgress = (done: number, bytes: number) => {
      if (Date.now() - lastNoteMs < 500 && done < records.length) return;
      lastNoteMs = Date.now();
      terminal.note(`${done} of ${records.length} records, ${(bytes / 1e6).toFixed(1)} MB`);
    };
    const { details, text } = await runFromTerminal(call, context, ACTS.import, { ...context, records, onProgress });
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
      if (!terminal.hasReader()) break;
      const text = exportLine(record);
      if (text !== undefined) terminal.line(text);
    }
    return 0;
  });
}

export async function reset(call: Call): Promise<number> {
  return withChat(call, async (context) => {
    const parent = await boundSession(context);
    const { details, text } = await runFromTerminal(call, context, ACTS.reset, { ...context, parent });
    call.print({ chat: context.chat, ...details }, () => `${text}.`);
    return 0;
  });
}

/** Erases all data of a chat. The exit code is 1 if messages of the chat are unanswered, or if the user does not confirm. */
export async function forget(call: Call): Promise<number> {
  if (call.options.yes === undefined && !(await isConfirmed(call))) return 1;
  return withChat(call, async (context) => {
    const { redis, settings, store, shard, keys, ...rest } = context;
    const storeIdInRedis = await boundStoreId(redis);
    // With a store other than that of the data, the files would stay although the report says "erased".
    if (storeIdInRedis !== undefined && storeIdInRedis !== (await store?.readId()))
      throw new Error('BLOB_URL is not the store that the data in Redis refers to. Nothing was erased.');
    // The conversation of a group that became a supergroup belongs to the new id.
    const chat = (await readChatFields(redis, keys, rest.chat))?.movedTo ?? rest.chat;
    const source = { redis, keys, blobs: store?.blobsOf(shard) };
    // `retentionDays` has no effect, since the store only erases here.
    const media = createMediaStore({ ...source, retentionDays: 1 });
    const erasures = FEATURES.flatMap(({ changesToErase }) => changesToErase ?? []);
    const archive = createChatArchive(source, media, erasures);
    const subject = { id: chat, title: `Chat ${chat}`, chat, keys, archive };
    const { details, effect, text } = await runFromTerminal(call, context, ACTS.forget, subject);
    const isPrivate = redisAddressOf(settings) === undefined;
    await removeErasedText(redis, keys, isPrivate, AbortSignal.timeout(REWRITE_MS)).catch(() =>
      call.terminal.note('The erased text is still in the files of the private Redis. A gateway that runs removes it.'),
    );
    call.print({ chat: rest.chat, ...details }, () => `${text}.`);
    return effect === 'failed' ? 1 : 0;
  });
}

/** Asks the user to type "yes", and returns whether the user did. Throws `UsageError` if the input is not a terminal. */
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

async function boundSession(of: Pick<SessionContext, 'redis' | 'keys' | 'chat'>): Promise<SessionId> {
  const session = await sessionOf(of.redis, of.keys, of.chat);
  if (session === undefined) throw new Error(`Chat ${of.chat} has no session yet.`);
  return session;
}
