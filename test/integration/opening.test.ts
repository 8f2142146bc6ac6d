import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { PrivateRedis } from '../../shared/private-redis/server.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { chatKey, type EntryId, type Keys, keysOf, type SessionId } from '../../shared/redis/keys.ts';
import { createInbox } from '../../shared/state/message/inbox.ts';
import type { Attempt } from '../../worker/lane/attempt.ts';
import { createLane, type Lane } from '../../worker/lane/lane.ts';
import type { Ground, Opening } from '../../worker/lane/opening.ts';
import { encodeRecord } from '../../worker/session/record.ts';
import { createSessions, newStamp, type Sessions } from '../../worker/session/store.ts';
import { WindowCache } from '../../worker/session/window-cache.ts';
import { lentRedis } from '../fixture/lent-redis.ts';
import { userSays } from '../fixture/records.ts';

const CHAT = 1_001;
const CHAT_KEY = chatKey(CHAT);
const SESSION = 's-1' as SessionId;
const BYTES_MAX = 100_000;

let server: PrivateRedis;
let redis: ReturnType<typeof connectRedis>;
let keys: Keys;
let lane: Lane;
let sessions: Sessions;
let updateId = 0;

beforeEach(async () => {
  server = await lentRedis();
  redis = connectRedis(server.url, 'patient');
  keys = keysOf(0);
  lane = createLane(redis, keys);
  sessions = createSessions(redis, keys);
  await lane.prepare();
  await redis.hset(keys.chat(CHAT_KEY), 'session', SESSION);
});

afterEach(async () => {
  redis.disconnect();
  await server.stop();
});

async function write(text: string, more: Partial<InboundMessage> = {}): Promise<EntryId> {
  updateId += 1;
  const about = { v: 1, updateId, chatId: CHAT, chatType: 'private', messageId: updateId, from: { id: CHAT } } as const;
  const content = { kind: 'text', text } as const;
  const { entry } = await createInbox(redis, 1).accept(7, { ...about, sentAtMs: 1, content, ...more }, '00-a-b-01');
  return entry;
}

/** A chat that was served before. */
async function served(): Promise<void> {
  const entry = await write('Hello');
  await lane.admit(100);
  const attempt = await begin(entry);
  await sessions.open(attempt, userSays('Hello', newStamp()), BYTES_MAX);
  await settle(attempt);
}

async function settle(attempt: Attempt) {
  const times = { settledAtMs: Date.now(), attempts: 1, recoveries: 0 };
  const record = { entry: attempt.entry, chat: CHAT_KEY, outcome: 'answered', traceId: 't', ...times } as const;
  return lane.settle(attempt, record);
}

function openingOf(text: string): Opening {
  const record = userSays(text, newStamp());
  return { ...(sessions.groundOf(CHAT_KEY) as Ground), record, line: encodeRecord(record) };
}

async function begin(entry: EntryId, opening?: Opening): Promise<Attempt> {
  const begun = await lane.begin(entry, CHAT_KEY, 's-new' as SessionId, opening);
  if (begun.kind !== 'begun') throw new Error(`not begun but ${begun.kind}`);
  return begun.attempt;
}

const logLength = () => redis.llen(keys.log(SESSION));

test('a text is recorded in the step that begins its attempt, and what it loads is what a load gives', async () => {
  await served();
  const entry = await write('And now?');
  await lane.admit(100);
  const opening = openingOf('And now?');
  const attempt = await begin(entry, opening);
  expect(await logLength()).toBe(2);
  const opened = await sessions.open(attempt, opening.record, BYTES_MAX);
  expect(opened.window.records).toMatchObject([{ content: 'Hello' }, { content: 'And now?' }]);
  expect(opened).toEqual(await createSessions(redis, keys).open(attempt, opening.record, BYTES_MAX));
  expect(await logLength()).toBe(2);
});

test('what was loaded stands, though another load has read more of the session before it is used', async () => {
  sessions = createSessions(redis, keys, new WindowCache({ recordsMin: 0 }));
  await served();
  const entry = await write('And now?');
  await lane.admit(100);
  const opening = openingOf('And now?');
  const attempt = await begin(entry, opening);
  await redis.rpush(keys.log(SESSION), encodeRecord(userSays('later', newStamp())));
  await sessions.load(attempt, BYTES_MAX);
  const { window } = await sessions.open(attempt, opening.record, BYTES_MAX);
  expect(window.records).toMatchObject([{ content: 'Hello' }, { content: 'And now?' }]);
});

test('another attempt at it records it no second time', async () => {
  await served();
  const entry = await write('And now?');
  await lane.admit(100);
  await begin(entry, openingOf('And now?'));
  const second = openingOf('And now?');
  const attempt = await begin(entry, second);
  const { window } = await sessions.open(attempt, second.record, BYTES_MAX);
  expect(window.records).toHaveLength(2);
  expect([attempt.attempts, await logLength()]).toEqual([2, 2]);
});

const chatHas = (field: string, value: string) => redis.hset(keys.chat(CHAT_KEY), field, value);

test.each<[string, (entry: EntryId) => Promise<unknown>]>([
  ['the chat has chosen another time zone', () => chatHas('timezone', 'Europe/Vienna')],
  ['the chat has chosen another model', () => chatHas('model', 'other')],
  ['the chat wants messages that wait to be merged', () => chatHas('busy', 'merge')],
  ['the chat is bound to another session', () => chatHas('session', 's-2')],
  ['the chat has moved', () => chatHas('movedTo', '-100')],
  ['a smaller window was learned', () => redis.hset(keys.session(SESSION), 'limitTokens', 1_000)],
  ['the message was edited', (entry) => redis.hset(keys.turn(entry), 'edited', '{}')],
  ['the message was cancelled', (entry) => redis.hset(keys.turn(entry), 'cancelled', 'stop')],
  [
    'a forwarded message waits behind it',
    async () => {
      await write('look at this', { forwardedFrom: 'Ada' });
      await lane.admit(100);
    },
  ],
])('a text is not recorded as its attempt begins when %s', async (_, happens) => {
  await served();
  const entry = await write('And now?');
  await lane.admit(100);
  const opening = openingOf('And now?');
  await happens(entry);
  const attempt = await begin(entry, opening);
  expect([attempt.opened, await logLength()]).toEqual([undefined, 1]);
});

test('a process is told the message of a head once, when it is admitted or when the message before it is settled', async () => {
  const [first, second] = [await write('one'), await write('two')];
  await lane.admit(100);
  const told = (entry: EntryId) => lane.foreseen(entry)?.content.text;
  expect([told(first), told(first), told(second)]).toEqual(['one', undefined, undefined]);
  await settle(await begin(first));
  expect(told(second)).toBe('two');
});

test('what is kept of an admission in Redis holds no message', async () => {
  await write('a secret');
  await lane.admit(100);
  const [kept = ''] = await redis.keys('*admitted*');
  expect(String(await redis.getBuffer(kept))).not.toContain('a secret');
});
