import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { closeServer, listen, readBody } from '../stand-in/loopback.ts';
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
  [{ text: `<b>${'x'.repeat(4096)}</b>`, parse_mode: 'HTML' }, 'x'.repeat(4096)],
  [{ text: 'a <b>b <i>c</i></b> &lt;d&gt;', parse_mode: 'HTML' }, 'a b c <d>'],
  [{ text: '<pre><code class="language-ts">x</code></pre>', parse_mode: 'HTML' }, 'x'],
  [{ text: '*bold* `a.b` [x](http://e.org/) \\.', parse_mode: 'MarkdownV2' }, 'bold a.b x .'],
  [{ text: '*bold* _it_ `a_b`', parse_mode: 'Markdown' }, 'bold it a_b'],
  [{ text: '  trimmed \n' }, 'trimmed'],
  [{ text: 'bold', entities: entity(0, 4) }, 'bold'],
];

const REFUSED: [method: string, params: object, says: string][] = [
  ['sendMessage', { text: '' }, 'message text is empty'],
  ['sendMessage', { text: ' \n\t ' }, 'text must be non-empty'],
  ['sendMessage', { text: '<b> </b>', parse_mode: 'HTML' }, 'text must be non-empty'],
  ['sendMessage', { text: 'x'.repeat(4097) }, 'message is too long'],
  ['sendMessage', { text: `${'👍'.repeat(2048)}!` }, 'message is too long'],
  ['sendMessage', { text: 'a', chat_id: 5 }, 'chat not found'],
  ['sendMessage', { text: 'a', message_thread_id: 5 }, 'message thread not found'],
  ['sendMessage', { text: 'a', reply_parameters: { message_id: 5 } }, 'message to be replied not found'],
  ['sendMessage', { text: 'a <b>b', parse_mode: 'HTML' }, "can't parse entities: Can't find end tag"],
  ['sendMessage', { text: 'a <h1>b</h1>', parse_mode: 'HTML' }, 'Unsupported start tag "h1" at byte offset 2'],
  ['sendMessage', { text: '<b><i>a</b></i>', parse_mode: 'HTML' }, 'Unmatched end tag'],
  ['sendMessage', { text: 'a < b', parse_mode: 'HTML' }, "can't parse entities"],
  ['sendMessage', { text: 'a.', parse_mode: 'MarkdownV2' }, "Character '.' is reserved and must be escaped"],
  ['sendMessage', { text: '*a', parse_mode: 'MarkdownV2' }, "Can't find end of the entity starting at byte offset 0"],
  ['sendMessage', { text: 'a_b', parse_mode: 'Markdown' }, "Can't find end of the entity starting at byte offset 1"],
  ['sendMessage', { text: 'a', parse_mode: 'BBCode' }, 'unsupported parse_mode'],
  ['sendMessage', { text: 'bold', entities: entity(2, 4) }, 'ends after the end of the text at UTF-16 offset 6'],
  ['editMessageText', { text: 'a', message_id: 5 }, 'message to edit not found'],
  ['editMessageText', { text: 'a' }, 'message to edit not found'],
  ['deleteMessage', { message_id: 5 }, 'message to delete not found'],
  ['sendChatAction', { action: 'dancing' }, 'wrong parameter action'],
  ['sendChatAction', { action: 'typing', chat_id: 5 }, 'chat not found'],
  ['sendMessageDraft', { text: 'a' }, 'RANDOM_ID_INVALID'],
  ['sendMessageDraft', { text: 'a', draft_id: 0 }, 'RANDOM_ID_INVALID'],
  ['sendMessageDraft', { text: 'a', draft_id: 1, chat_id: 5 }, 'chat not found'],
  ['sendMessageDraft', { text: 'x'.repeat(4097), draft_id: 1 }, 'message is too long'],
  ['sendMessageDraft', { text: 'a', draft_id: 1, message_thread_id: 5 }, 'message thread not found'],
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

test('sendMessageDraft works in private chats only and leaves no message in the chat', async () => {
  const telegram = await start();
  telegram.openChat(-1001);
  const draft = (chat_id: number) => call(telegram, 'sendMessageDraft', { chat_id, draft_id: 7, text: 'so far' });
  expect(await draft(CHAT)).toMatchObject({ ok: true, result: true });
  expect(await draft(-1001)).toMatchObject({ ok: false, error_code: 400 });
  expect(telegram.shown(CHAT)).toEqual([]);
});

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

test('a webhook gets updates in order with its secret, retried until a 200, and polls are refused meanwhile', async () => {
  const telegram = await start();
  const seen: { text: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(String(await readBody(request, 1e6)));
    seen.push({ text: body.message.text, headers: request.headers });
    response.writeHead(seen.length === 1 ? 503 : 200, { 'retry-after': '0' }).end();
  });
  open.push({ close: () => closeServer(server) });
  const url = `${await listen(server)}/hook`;
  await call(telegram, 'setWebhook', { url, secret_token: 'not-a-real-one' });
  telegram.say(CHAT, 'a');
  await telegram.waitForConfirmed(telegram.say(CHAT, 'b'));
  expect(seen.map(({ text }) => text)).toEqual(['a', 'a', 'b']);
  expect(seen[0]?.headers['x-telegram-bot-api-secret-token']).toBe('not-a-real-one');
  expect(telegram.deliveries.map(({ status }) => status)).toEqual([503, 200, 200]);
  expect((await call(telegram, 'getUpdates', {})).description).toMatch(/^Conflict: can't use getUpdates method/);
  expect((await call(telegram, 'getWebhookInfo', {})).result).toMatchObject({ url, pending_update_count: 0 });
  await call(telegram, 'deleteWebhook', {});
  expect(await call(telegram, 'getUpdates', {})).toMatchObject({ ok: true, result: [] });
});
