import { expect, test } from '@jest/globals';
import { createTelegram } from '../../shared/telegram/client.ts';
import { startBot } from '../fixture/bot-api.ts';

/** Guest mode, as the documents of Bot API 10.0 have it. None of this was tried on the real server. */
const ABROAD = -100_900;
const CALLER = 77;

async function summoned(text = 'Hello') {
  const bot = await startBot();
  bot.telegram.summon(CALLER, ABROAD, text);
  const [{ guest_message: message = {} } = {}] = await bot.updates();
  return { ...bot, message, query: String(message.guest_query_id) };
}

const article = (message_text: string, more: object = {}) => ({
  type: 'article',
  id: '1',
  title: 'Answer',
  input_message_content: { message_text },
  ...more,
});
const TOO_OLD = 'Bad Request: query is too old and response timeout expired or query ID is invalid';

test('a call brings who calls, where, and what is said, and the bot can write nothing else there', async () => {
  const { message, call, telegram } = await summoned('@bot what is this?');
  expect(message).toMatchObject({
    from: { id: CALLER, is_bot: false },
    chat: { id: ABROAD, type: 'supergroup' },
    text: '@bot what is this?',
    guest_query_id: expect.any(String),
  });
  expect(await call('sendMessage', { chat_id: ABROAD, text: 'Hi' })).toMatchObject({ ok: false, error_code: 400 });
  expect(telegram.shown(ABROAD)).toEqual([]);
});

test('it is answered once, and what stands there can be edited by its id alone', async () => {
  const { call, telegram, query } = await summoned();
  const { result } = await call('answerGuestQuery', { guest_query_id: query, result: article('One moment') });
  const { inline_message_id: id } = result as { inline_message_id: string };
  expect(telegram.shownAbroad(ABROAD)).toMatchObject([{ text: 'One moment' }]);
  expect(await call('answerGuestQuery', { guest_query_id: query, result: article('Twice') })).toMatchObject({
    description: TOO_OLD,
  });
  const edit = (text: string) => call('editMessageText', { inline_message_id: id, text });
  expect(await edit('Here')).toEqual({ ok: true, result: true });
  expect(await edit('Here')).toMatchObject({ description: expect.stringContaining('message is not modified') });
  const blocks = [{ type: 'paragraph', text: 'Rich' }];
  expect(await call('editMessageText', { inline_message_id: id, rich_message: { blocks } })).toMatchObject({
    ok: true,
  });
  expect(telegram.shownAbroad(ABROAD)).toMatchObject([{ text: 'Rich', edits: 2 }]);
  telegram.clearAbroad(ABROAD);
  expect(await edit('Gone')).toMatchObject({ error_code: 400, description: 'Bad Request: MESSAGE_ID_INVALID' });
  expect(await call('editMessageText', { inline_message_id: 'AQmade-up', text: 'a' })).toMatchObject({ ok: false });
});

test.each([
  ['an unknown query', { guest_query_id: '1', result: article('a') }, TOO_OLD],
  ['no title', { result: article('a', { title: '' }) }, 'title'],
  ['an id that is too long', { result: article('a', { id: 'x'.repeat(65) }) }, 'RESULT_ID_INVALID'],
  ['no text', { result: article('') }, 'text'],
  ['a text that is too long', { result: article('a'.repeat(4_097)) }, 'too long'],
  ['another type', { result: { ...article('a'), type: 'gif' } }, 'gif'],
])('refuses %s, and the call can still be answered', async (_what, given, why) => {
  const { call, query } = await summoned();
  expect(await call('answerGuestQuery', { guest_query_id: query, ...given })).toMatchObject({
    error_code: 400,
    description: expect.stringContaining(why),
  });
  expect(await call('answerGuestQuery', { guest_query_id: query, result: article('a') })).toMatchObject({ ok: true });
});

test('one that expired, or that a server before 10.0 does not know, is refused for good', async () => {
  const { telegram, query, call } = await summoned();
  const client = createTelegram({ token: telegram.token, apiRoot: telegram.url });
  telegram.expireSummonses();
  const late = await client.answerSummons(query, 'Late');
  expect(late).toMatchObject({ ok: false, failure: { kind: 'rejected', description: TOO_OLD } });
  expect((await call('getMe', {})).result).toMatchObject({ supports_guest_queries: true });
  const old = await startBot({ apiVersion: '9.5', guests: 'off' });
  const before = createTelegram({ token: old.telegram.token, apiRoot: old.telegram.url });
  expect(await before.answerSummons('1', 'a')).toMatchObject({ ok: false, failure: { kind: 'rejected' } });
  expect((await old.call('getMe', {})).result).toMatchObject({ supports_guest_queries: false });
});

test('the client puts and edits a text without previews of links, and takes the same text twice', async () => {
  const { telegram, query } = await summoned();
  const client = createTelegram({ token: telegram.token, apiRoot: telegram.url, hasGuests: true });
  const put = await client.answerSummons(query, 'One moment');
  const id = put.ok ? put.value.inlineId : '';
  for (const text of ['An *answer*', 'An *answer*'])
    expect(await client.editSummoned(id, text, [{ type: 'bold', offset: 0, length: 2 }])).toMatchObject({ ok: true });
  const sent = telegram.calls.filter(({ method }) => method === 'editMessageText' || method === 'answerGuestQuery');
  expect(JSON.stringify(sent.map(({ params }) => params)).match(/is_disabled/g)).toHaveLength(3);
  telegram.clearAbroad(ABROAD);
  expect(await client.editSummoned(id, 'b')).toMatchObject({ ok: false, failure: { kind: 'message_gone' } });
});
