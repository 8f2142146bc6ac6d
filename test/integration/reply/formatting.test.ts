import { expect, test } from '@jest/globals';
import { CHAT, eachWithGateway, moveToWorld, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ask } from '../../fixture/whole-chat.ts';

const TABLE = 'Two hosts:\n\n| host | load |\n|---|---:|\n| a | 1 |\n| b | 12 |\n';

eachWithGateway();

async function answered(text: string, nth = 1) {
  world.claude.react(() => ({ do: 'answer', text }));
  expect(await ask('Hello', nth)).toMatchObject({ outcome: 'answered' });
  return world.telegram.shown(CHAT);
}

test('marks beside Chinese punctuation are marks, in entities and in a rich message', async () => {
  const [message] = await answered('**重點：**請先備份。這是**重要。**請看**（括號）**與*注意：*請');
  expect(message).toMatchObject({
    text: '重點：請先備份。這是重要。請看（括號）與注意：請',
    entities: [
      { type: 'bold', offset: 0, length: 3 },
      { type: 'bold', offset: 10, length: 3 },
      { type: 'bold', offset: 15, length: 4 },
      { type: 'italic', offset: 20, length: 3 },
    ],
  });
  const [, table] = await answered(`**重點：**請\n\n${TABLE}`, 2);
  expect(JSON.stringify(table?.rich)).toMatch(/"bold".*重點：/);
  expect(JSON.stringify(table?.rich)).not.toContain('**');
});

test.each([['RICH_MESSAGE_TABLE_COLS_TOO_MANY'], ['can\'t parse InputRichBlock: Field "cells" must be of type Array']])(
  'a rich message that is refused as %s is sent as monospaced text',
  async (why) => {
    world.telegram.fail('sendRichMessage', { status: 400, description: `Bad Request: ${why}` });
    const [message] = await answered(TABLE);
    expect(message?.text).toContain('Two hosts:');
    expect(message?.entities).toEqual([expect.objectContaining({ type: 'pre' })]);
  },
);

test('a table is a rich message, which is repeated as one, with the notice, when its response is lost', async () => {
  world.telegram.fail('sendRichMessage', { do: 'loseReply' });
  const [first, repeat] = await answered(TABLE);
  expect(first?.rich?.map(({ type }) => type)).toEqual(['paragraph', 'table']);
  expect(repeat?.text).toMatch(/^↻ .*Two hosts:/s);
  expect(repeat?.rich?.map(({ type }) => type)).toEqual(['paragraph', 'paragraph', 'table']);
});

test('a rich refusal in part 2 of 3 changes that part alone', async () => {
  const section = (n: number) => `${'word '.repeat(1_000)}\n\n| part ${n} |\n|---|\n| x |\n\n`;
  const refused = { status: 400, description: 'Bad Request: RICH_MESSAGE_TOO_LARGE' };
  world.telegram.fail('sendRichMessage', refused, 1, ({ rich_message }) =>
    JSON.stringify(rich_message).includes('part 2'),
  );
  const messages = await answered([1, 2, 3].map(section).join(''));
  const whole = messages.map(({ text }) => text).join(' ');
  expect(whole.match(/part \d/g)).toEqual(['part 1', 'part 2', 'part 3']);
  const kinds = messages.filter(({ document }) => document === undefined).map(({ rich }) => rich !== undefined);
  expect([kinds[0], kinds.at(-1)]).toEqual([true, true]);
  expect(kinds).toContain(false);
});

test('with TELEGRAM_RICH=off, or a server without them that is asked once, a table is monospaced text', async () => {
  await stopGateways();
  await start({ TELEGRAM_RICH: 'off' });
  expect((await answered(TABLE))[0]?.entities).toEqual([expect.objectContaining({ type: 'pre' })]);
  expect(world.telegram.calls.filter(({ method }) => method === 'sendRichMessage')).toEqual([]);
  await stopGateways();
  await moveToWorld({ telegram: { apiVersion: 9.5 } });
  await start();
  const [first] = await answered(TABLE);
  expect(first?.entities).toEqual([expect.objectContaining({ type: 'pre' })]);
  await ask('Again', 2);
  expect(world.telegram.calls.filter(({ method }) => method === 'sendRichMessage')).toHaveLength(1);
});

test('entities that Telegram refuses are left out, and the text is sent as it is', async () => {
  const refused = { status: 400, description: "Bad Request: can't parse entities: wrong offset" };
  world.telegram.fail('sendMessage', refused, 1, ({ entities }) => entities !== undefined);
  const [message] = await answered('This is **bold**.');
  expect(message).toMatchObject({ text: 'This is bold.' });
  expect(message).not.toHaveProperty('entities');
  expect(shown()).toHaveLength(1);
});

test('a notification has no marks, and a timeout never changes the format: the repeat has its entities behind the notice', async () => {
  world.telegram.fail('sendMessage', { do: 'loseReply' });
  const [first, repeat] = await answered('This is **bold**.');
  expect(first).toMatchObject({ notified: 'This is bold.', entities: [{ type: 'bold', offset: 8, length: 4 }] });
  const offset = (repeat?.text.indexOf('This is') ?? 0) + 8;
  expect(repeat?.entities).toEqual([{ type: 'bold', offset, length: 4 }]);
});

test('an answer of 20,000 characters with code and tables arrives whole, in order, each part within the limits', async () => {
  const section = (n: number) =>
    `## Part ${n}\n\n${'word '.repeat(300)}\n\n\`\`\`ts\n${'const x = 1;\n'.repeat(40)}\`\`\`\n\n${TABLE}`;
  // Marks that are not closed, or a part of nothing but quote marks, spoil nothing.
  const odd = `**never closed\n\n${'>'.repeat(5_000)}`;
  const messages = await answered([...[1, 2, 3, 4, 5, 6, 7, 8].map(section), odd].join('\n\n'));
  const whole = messages.map(({ text }) => text).join('\n');
  expect([...whole.matchAll(/Part (\d)/g)].map(([, n]) => Number(n))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(messages.length).toBeGreaterThan(2);
  expect(messages.at(-1)?.document?.name).toBe('answer.md');
  expect(messages.filter(({ document }) => document !== undefined)).toHaveLength(1);
  expect(messages.filter(({ notified }) => notified !== undefined)).toHaveLength(1);
  expect(whole.match(/const x = 1;/g)).toHaveLength(320);
  expect(whole).toContain('never closed');
});
