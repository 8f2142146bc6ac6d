import { expect, test } from '@jest/globals';
import type { ChatEvent } from '../../stand-in/telegram/history.ts';
import { pageOf } from '../../transcript/page.ts';
import type { PlayedChat, PlayedScene } from '../../transcript/scene.ts';

const SCRIPT = '<script>alert(1)</script>';

function said(message: Record<string, unknown>, isHeard = true): ChatEvent {
  const from = { first_name: `Eve${SCRIPT}\u202E` };
  return { kind: 'said', at: 1, isHeard, message: { message_id: 1, chat: { type: 'group' }, from, ...message } };
}

function sent(kind: 'sent' | 'edited', at: number, more: object): ChatEvent {
  return { kind, at, message: { messageId: 2, text: 'x', at, edits: 0, ...more } };
}

function scene(events: readonly ChatEvent[], more: Partial<PlayedScene & PlayedChat> = {}): string {
  const { drafts = [], title = 'chat', failure } = more;
  const chats = [{ title, events, drafts }];
  const page = pageOf([{ name: 's', title, about: 'about', chats, ...(failure !== undefined && { failure }) }]);
  return page.replace(/<style>.*?<\/style>/s, '');
}

test('names, titles, texts, file names, buttons and failures stay text', () => {
  const replyMarkup = { inline_keyboard: [[{ text: SCRIPT }]] };
  const events = [
    said({
      text: SCRIPT,
      document: { file_name: SCRIPT },
      quote: { text: SCRIPT },
      reply_to_message: { message_id: 2 },
    }),
    sent('sent', 2, { text: SCRIPT, notified: SCRIPT, replyTo: 1, document: { name: SCRIPT, bytes: 1 }, replyMarkup }),
    { kind: 'pressed', at: 3, label: SCRIPT } as const,
  ];
  const page = scene(events, { title: SCRIPT, failure: SCRIPT });
  expect(page).not.toMatch(/<script/i);
  expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(9);
  expect(page).not.toMatch(/[\u202a-\u202e]/);
  expect(page).toContain('<i class="hidden">U+202E</i>');
});

test('the page needs nothing besides itself, and allows no script', () => {
  const page = scene([]);
  expect(page).toContain("default-src 'none'");
  expect(page).not.toMatch(/<(?:script|link|img|iframe)|\ssrc=|@import|url\(/);
});

test('a message that rang shows the notification as it was sent, a silent one says so', () => {
  const page = scene([
    sent('sent', 1, { text: 'first', notified: 'first' }),
    sent('edited', 2, { text: 'second', notified: 'first' }),
    sent('sent', 3, { messageId: 3, text: 'quiet' }),
  ]);
  expect(page).toMatch(/<div class="text">second<\/div><details class="earlier">.*<div class="text">first<\/div>/s);
  expect(page).toMatch(/🔔 <span dir="auto">first<\/span>/);
  expect(page).toMatch(/quiet[\s\S]*🔕 arrived in silence/);
});

test('a deleted message, and one that the bot did not get, say so', () => {
  const page = scene([said({ text: 'psst' }, false), sent('sent', 2, {}), { kind: 'deleted', at: 3, messageId: 2 }]);
  expect(page).toContain('not seen by the bot');
  expect(page).toMatch(/bubble gone[\s\S]*<b>deleted<\/b>/);
});

test('an answer shows what it answers, by whom, and a topic is named', () => {
  const page = scene([said({ text: 'why?', message_thread_id: 7 }), sent('sent', 2, { replyTo: 1, topicId: 7 })]);
  expect(page).toMatch(/class="answers"><b>Eve.*<\/b><br>why\?</);
  expect(page.match(/in topic 7/g)).toHaveLength(2);
  const root = { message_id: 7, forum_topic_created: {} };
  expect(scene([said({ text: 'x', message_thread_id: 7, reply_to_message: root })])).not.toContain('class="answers"');
  expect(scene([sent('sent', 2, { replyTo: 99 })])).toContain('a message that is gone');
});

test('a forward, a sticker and a rich message that somebody sent are shown', () => {
  const blocks = [{ type: 'paragraph', text: 'pasted' }];
  const page = scene([
    said({ text: 'x', forward_origin: { sender_user_name: 'Zoe' } }),
    said({ message_id: 4, sticker: {}, rich_message: { blocks } }),
  ]);
  expect(page).toContain('Forwarded from Zoe');
  expect(page).toMatch(/class="file">sticker[\s\S]*<p>pasted<\/p>/);
});

test('the states of a draft stand together, with the button that was below it', () => {
  const draft = (draftId: number, at: number, text: string) => ({ draftId, at, text, canStop: true, keepOnStop: true });
  const page = scene([], { drafts: [draft(1, 1, 'He'), draft(1, 2, 'Hello'), draft(2, 3, 'Other')] });
  expect(page).toMatch(/\(2 states\)[\s\S]*>He<[\s\S]*>Hello<[\s\S]*⏹ Stop[\s\S]*\(1 states\)/);
});

test('the buttons of a question that was answered are still shown, faint, and it does not count as edited', () => {
  const replyMarkup = { inline_keyboard: [[{ text: 'Allow once' }]] };
  const page = scene([sent('sent', 1, { text: 'May I?', replyMarkup }), sent('edited', 2, { text: 'May I?' })]);
  expect(page).toMatch(/<div class="used">.*Allow once/s);
  expect(page).not.toContain('as it was before');
  const stands = scene([sent('sent', 1, { text: 'May I?', replyMarkup })]);
  expect(stands).toContain('Allow once');
  expect(stands).not.toContain('class="used"');
});

test('a quote that can be folded is folded where it is long', () => {
  const quoted = (text: string) =>
    scene([sent('sent', 1, { text, entities: [{ type: 'expandable_blockquote', offset: 0, length: text.length }] })]);
  expect(quoted('text: short')).toContain('<blockquote>text: short</blockquote>');
  expect(quoted('a line\n'.repeat(9).trim())).toContain('<details class="quote">');
});
