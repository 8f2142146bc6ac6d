import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { clip } from '../../shared/base/text.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type ChatKey, type Keys, keysOf, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import { notedStoreId } from '../../shared/state/blob/binding.ts';
import type { Blobs } from '../blob/blobs.ts';
import type { BlobStore } from '../blob/store.ts';
import { openBlobStore } from '../blob/store.ts';
import { forgetChat } from '../operator/forget.ts';
import { type Order, writeDown } from '../operator/trail.ts';
import { textOf } from '../session/record.ts';
import { emptySessionCommands, newSessionId } from '../session/store.ts';
import { exportLine, importSession, parseLines, readSession } from '../session/transfer.ts';
import { withRedis } from './connection.ts';
import { ORDER_HELP, ORDER_OPTIONS, orderOf } from './order.ts';
import { type Terminal, UsageError } from './terminal.ts';

const HELP = `Usage: npm run cli -- session show|export|reset|forget <chat> [--json]
       npm run cli -- session import <chat> [file] [--json]

import reads JSON lines, {"role":"user"|"assistant","content": text or Messages API blocks, "at"?: ISO time}, from a file
or from standard input, and binds the chat to them as a new session. A bad line is named by its number, and then nothing
is imported. export writes the same lines with more fields. show says what the session is made of. reset starts an empty
session, as /new does; the old one is kept. A message that is being answered now ends in the old one. forget erases all of the chat for good, as /forget does:
conversations, files, failed messages, reminders, choices.
import, reset and forget: ${ORDER_HELP}`;

const SHOWN_RECORDS = 6;
const SHOWN_CHARS = 160;

interface SessionTask {
  redis: RedisClient;
  shards: number;
  keys: Keys;
  store: BlobStore | undefined;
  blobs: Blobs | undefined;
  chat: ChatKey;
  file: string | undefined;
  json: boolean;
  order: Order;
  terminal: Terminal;
}

const ACTIONS: Readonly<Record<string, (task: SessionTask) => Promise<number>>> = {
  show,
  export: exportAll,
  import: importAll,
  reset,
  forget,
};

/** Shows, exports, imports, resets or forgets the session of a chat. */
export async function session(args: string[], terminal: Terminal): Promise<number> {
  const options = { help: { type: 'boolean' }, json: { type: 'boolean' }, ...ORDER_OPTIONS } as const;
  // A chat id of a group starts with a minus sign, which is no option.
  const chatIds = args.filter((arg) => /^-\d/.test(arg));
  const { values, positionals } = parseArgs({
    args: args.filter((arg) => !chatIds.includes(arg)),
    options,
    allowPositionals: true,
  });
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const [name = '', ...rest] = positionals;
  const action = ACTIONS[name];
  const parsed = parseChatKey(chatIds[0] ?? rest.shift() ?? '');
  if (!action || !parsed) throw new UsageError(HELP);
  return withRedis(terminal, (redis, shards, place) => {
    const shard = shardOf(parsed.chatId, shards);
    const store = openBlobStore(place);
    return action({
      redis,
      shards,
      keys: keysOf(shard),
      store,
      blobs: store?.blobsOf(shard),
      chat: parsed.chat,
      file: rest[0],
      json: values.json === true,
      order: orderOf(values),
      terminal,
    });
  });
}

async function importAll({ redis, keys, chat, file, json, order, terminal }: SessionTask): Promise<number> {
  if (file !== undefined) await access(file).catch(() => Promise.reject(new UsageError(`${file} cannot be read.`)));
  const records = await parseLines(
    createInterface({
      input: file === undefined ? terminal.input : createReadStream(file),
      crlfDelay: Number.POSITIVE_INFINITY,
    }),
  );
  await writeDown(redis, 'import', chat, order);
  let shownAtMs = Date.now();
  const id = await importSession(redis, keys, chat, records, (done, bytes) => {
    if (Date.now() - shownAtMs < 500 && done < records.length) return;
    shownAtMs = Date.now();
    terminal.note(`${done} of ${records.length} records, ${(bytes / 1e6).toFixed(1)} MB`);
  });
  terminal.line(
    json
      ? JSON.stringify({ session: id, records: records.length })
      : `Chat ${chat} is bound to session ${id}: ${records.length} records.`,
  );
  return 0;
}

async function exportAll({ redis, keys, blobs, chat, terminal }: SessionTask): Promise<number> {
  const id = await boundSession(redis, keys, chat);
  let written = 0;
  const onUnreadable = (segment: number) => terminal.note(`segment ${segment} of the archive is damaged and left out`);
  for await (const record of readSession({ redis, keys, blobs }, id, onUnreadable)) {
    if (!terminal.isRead()) break;
    const text = exportLine(record);
    if (text === undefined) continue;
    terminal.line(text);
    written += 1;
    if (written % 5_000 === 0) terminal.note(`${written} records`);
  }
  return 0;
}

async function show({ redis, keys, chat, json, terminal }: SessionTask): Promise<number> {
  const id = await boundSession(redis, keys, chat);
  const about = await redis.hgetall(keys.session(id));
  const records = Number(about.archived ?? 0) + (await redis.llen(keys.log(id)));
  if (json) {
    terminal.line(JSON.stringify({ chat, session: id, ...about, records }));
    return 0;
  }
  terminal.line(`Chat ${chat}, session ${id}`);
  terminal.line(
    `${records} records, ${(Number(about.bytes ?? 0) / 1e6).toFixed(2)} MB, window from record ${about.windowStart ?? 0}`,
  );
  if (about.parent) terminal.line(`went on from session ${about.parent}`);
  if (about.limitTokens) terminal.line(`known window: ${about.limitTokens} tokens`);
  const newest = await redis.lrange(keys.log(id), -SHOWN_RECORDS, -1);
  for (const text of newest) {
    const record = JSON.parse(text) as { t: string; at: string; content?: never; text?: string; summary?: string };
    const said = record.content === undefined ? (record.text ?? record.summary ?? '') : textOf(record.content);
    terminal.line(`  ${record.at} ${record.t}: ${clip(said.replace(/\s+/g, ' '), SHOWN_CHARS)}`);
  }
  return 0;
}

async function reset({ redis, keys, chat, json, order, terminal }: SessionTask): Promise<number> {
  const from = await boundSession(redis, keys, chat);
  const to = newSessionId();
  await writeDown(redis, 'reset', chat, order);
  const transaction = redis.multi();
  for (const [name, ...words] of emptySessionCommands(keys, chat, from, to)) transaction.call(String(name), ...words);
  await transaction.exec();
  terminal.line(
    json
      ? JSON.stringify({ chat, session: to, parent: from })
      : `Chat ${chat} begins anew in session ${to}; ${from} is kept.`,
  );
  return 0;
}

/** With another store the bytes would stay, and the chat be told to be erased. */
async function forget({ redis, shards, store, blobs, chat, json, order, terminal }: SessionTask): Promise<number> {
  const noted = await notedStoreId(redis);
  if (noted !== undefined && noted !== (await store?.readId()))
    throw new Error('BLOB_URL is not the store that the data in Redis refers to. Nothing was erased.');
  const underWay = await forgetChat({ redis, shards, blobs }, chat, order);
  if (json) terminal.line(JSON.stringify({ chat, forgotten: underWay === 0, underWay }));
  else if (underWay === 0) terminal.line(`All of chat ${chat} is erased.`);
  else
    terminal.line(
      `Chat ${chat} is not erased: ${underWay} of its messages are not answered yet. End them (npm run cli -- cancel ${chat}), then run this again.`,
    );
  return underWay === 0 ? 0 : 1;
}

async function boundSession(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<SessionId> {
  const id = await redis.hget(keys.chat(chat), 'session');
  if (id === null) throw new Error(`Chat ${chat} has no session yet.`);
  return id as SessionId;
}
