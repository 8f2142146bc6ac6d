import { afterEach, expect, test } from '@jest/globals';
import { startTelegram, type TelegramStandIn } from '../stand-in/telegram/server.ts';

const open: { close(): unknown }[] = [];

async function start(): Promise<TelegramStandIn> {
  const telegram = await startTelegram();
  open.push(telegram);
  telegram.openChat(CHAT);
  return telegram;
}

afterEach(() => Promise.all(open.splice(0).map((each) => each.close())));

const CHAT = 1001;
const GROUP = -100_500;

interface Answer {
  ok: boolean;
  error_code?: number;
  description?: string;
  result?: Record<string, unknown>;
}

async function call(telegram: TelegramStandIn, method: string, params: object): Promise<Answer> {
  const answer = await fetch(`${telegram.url}/bot${telegram.token}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(params),
  });
  return (await answer.json()) as Answer;
}

const entity = (offset: number, length: number) => [{ type: 'bold', offset, length }];

const SENT: [params: object, shown: string][] = [
  [{ text: 'x'.repeat(4096) }, 'x'.repeat(4096)],
  [{ text: '👍'.repeat(2048) }, '👍'.repeat(2048)],
  [{ text: '  trimmed \n' }, 'trimmed'],
  [{ text: 'bold', entities: entity(0, 4) }, 'bold'],
];

const REFUSED: [method: string, params: object, says: string][] = [
  ['sendMessage', { text: '' }, 'message text is empty'],
  ['sendMessage', { text: ' \n\t ' }, 'text must be non-empty'],
  ['sendMessage', { text: 'x'.repeat(4097) }, 'message is too long'],
  ['sendMessage', { text: `${'👍'.repeat(2048)}!` }, 'message is too long'],
  ['sendMessage', { text: 'a', chat_id: 5 }, 'chat not found'],
  ['sendMessage', { text: 'a', message_thread_id: 5 }, 'message thread not found'],
  ['sendMessage', { text: 'a', reply_parameters: { message_id: 5 } }, 'message to be replied not found'],
  ['sendMessage', { text: 'a', parse_mode: 'HTML' }, 'unsupported parse_mode'],
  ['sendMessage', { text: 'bold', entities: entity(2, 4) }, 'ends after the end of the text at UTF-16 offset 6'],
  ['editMessageText', { text: 'a', message_id: 5 }, 'message to edit not found'],
  ['editMessageText', { text: 'a' }, 'message to edit not found'],
  ['deleteMessage', { message_id: 5 }, 'message to delete not found'],
  ['sendChatAction', { action: 'dancing' }, 'wrong parameter action'],
  ['sendChatAction', { action: 'typing', chat_id: 5 }, 'chat not found'],
  ['getFile', { file_id: 'none' }, 'wrong file_id'],
  ['setMyCommands', { commands: [{ command: 'Start', description: 'x' }] }, 'BOT_COMMAND_INVALID'],
  ['setMyCommands', { commands: [{ command: 'start', description: '' }] }, 'command description must be non-empty'],
  ['sendDocument', {}, 'there is no document in the request'],
  ['setWebhook', { url: 'http://example.org/hook' }, 'An HTTPS URL must be provided'],
];

for (const [params, shown] of SENT) {
  test(`sendMessage takes ${JSON.stringify(params).slice(0, 60)}`, async () => {
    const telegram = await start();
    expect(await call(telegram, 'sendMessage', { chat_id: CHAT, ...params })).toMatchObject({ ok: true });
    expect(telegram.shown(CHAT)).toMatchObject([{ text: shown, edits: 0 }]);
  });
}

for (const [method, params, says] of REFUSED) {
  test(`${method} refuses ${JSON.stringify(params).slice(0, 60)}`, async () => {
    const telegram = await start();
    const answer = await call(telegram, method, { chat_id: CHAT, ...params });
    expect(answer).toMatchObject({ ok: false, error_code: 400 });
    expect(answer.description).toContain(`Bad Request: `);
    expect(answer.description).toContain(says);
    expect([telegram.shown(CHAT), telegram.calls[0]?.ok]).toEqual([[], false]);
  });
}

test('editMessageText changes a message, and refuses an unchanged text or a message of the user', async () => {
  const telegram = await start();
  telegram.say(CHAT, 'mine', { messageId: 50 });
  const message_id = (await call(telegram, 'sendMessage', { chat_id: CHAT, text: 'a' })).result?.message_id;
  await call(telegram, 'editMessageText', { chat_id: CHAT, message_id, text: 'b' });
  const again = await call(telegram, 'editMessageText', { chat_id: CHAT, message_id, text: 'b ' });
  expect(again.description).toMatch(/^Bad Request: message is not modified: specified new message content/);
  const bold = { chat_id: CHAT, message_id, text: 'b', entities: entity(0, 1) };
  expect(await call(telegram, 'editMessageText', bold)).toMatchObject({ ok: true });
  expect(telegram.shown(CHAT)).toMatchObject([{ messageId: message_id, text: 'b', edits: 2 }]);
  const other = await call(telegram, 'editMessageText', { chat_id: CHAT, message_id: 50, text: 'b' });
  expect(other.description).toBe("Bad Request: message can't be edited");
  await call(telegram, 'deleteMessage', { chat_id: CHAT, message_id });
  expect(telegram.shown(CHAT)).toEqual([]);
});

test('keeps topics and replies, and sends a reply to a missing message if allow_sending_without_reply is set', async () => {
  const telegram = await start();
  telegram.say(GROUP, 'hello', { topicId: 3, messageId: 8 });
  const at = { chat_id: GROUP, message_thread_id: 3 };
  await call(telegram, 'sendMessage', { ...at, text: 'a', reply_parameters: { message_id: 8 } });
  const lost = { message_id: 77, allow_sending_without_reply: true };
  await call(telegram, 'sendMessage', { chat_id: GROUP, text: 'b', reply_parameters: lost });
  expect(telegram.shown(GROUP, 3)).toMatchObject([{ text: 'a', replyTo: 8, topicId: 3 }]);
  expect(telegram.shown(GROUP).map(({ replyTo, messageId }) => [replyTo, messageId])).toEqual([
    [8, 9],
    [undefined, 10],
  ]);
});

test('getFile describes a file for download and refuses one over 20 MB', async () => {
  const telegram = await start();
  const id = telegram.addFile(Buffer.from('notes'), 'documents/notes.txt');
  const { result } = await call(telegram, 'getFile', { file_id: id });
  expect(result).toMatchObject({ file_id: id, file_size: 5, file_path: 'documents/notes.txt' });
  const file = await fetch(`${telegram.url}/file/bot${telegram.token}/${result?.file_path}`);
  expect(await file.text()).toBe('notes');
  expect((await fetch(`${telegram.url}/file/bot1:other/documents/notes.txt`)).status).toBe(401);
  const large = telegram.addFile(Buffer.from('x'), 'video.mp4', 21 * 1024 * 1024);
  expect((await call(telegram, 'getFile', { file_id: large })).description).toBe('Bad Request: file is too big');
});

test('sendDocument accepts multipart and keeps the name, size and caption', async () => {
  const telegram = await start();
  const form = new FormData();
  form.set('chat_id', String(CHAT));
  form.set('caption', 'the log');
  form.set('document', new Blob(['line\r\n--line\r\n']), 'session.jsonl');
  await fetch(`${telegram.url}/bot${telegram.token}/sendDocument`, { method: 'POST', body: form });
  expect(telegram.shown(CHAT)).toMatchObject([{ text: 'the log', document: { name: 'session.jsonl', bytes: 14 } }]);
});
