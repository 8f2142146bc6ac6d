import { expect, test } from '@jest/globals';
import { saidIn } from '../../fixture/asked.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto, pdfOf } from '../../fixture/files.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, photoOf, sendFile, sendPhoto } from '../../fixture/whole-chat.ts';
import { document } from '../../stand-in/telegram/inbound-kinds.ts';

const MB = 1024 * 1024;

eachInWorld();

test('a photo reaches the model with its caption last, and stays in the conversation but not in the log', async () => {
  await start();
  expect(await sendPhoto(await jpegPhoto(3_000, 2_000), 1, 'What is this?')).toMatchObject({ outcome: 'answered' });
  const [picture, caption] = saidIn(mainCalls()[0]);
  expect(picture).toMatchObject({ type: 'image', source: { type: 'base64', media_type: 'image/jpeg' } });
  expect(caption).toMatchObject({ type: 'text', text: 'What is this?' });
  await ask('And now?', 2);
  const [before, after] = mainCalls().map((call) => saidIn(call, 0)[0]?.source);
  expect(after).toEqual(before);
  const [log = ''] = await world.peek.keys('*:log:*');
  const logged = (await world.peek.lrange(log, 0, -1)).filter((line) => line.includes('"t":"user"'));
  expect(logged).toHaveLength(2);
  expect(logged.join('').length).toBeLessThan(2_000);
  expect(world.claude.violations()).toEqual([]);
});

test('a PDF and a text file reach the model, recognised by their bytes and not by their names', async () => {
  await start();
  expect(await sendFile('report.docx', pdfOf(3))).toMatchObject({ outcome: 'answered' });
  expect(saidIn(mainCalls()[0])[0]).toMatchObject({
    type: 'document',
    title: 'report.docx',
    source: { type: 'base64', media_type: 'application/pdf' },
  });
  await sendFile('notes.pdf', Buffer.from('line one\nline two'), 2);
  expect(saidIn(mainCalls()[1])[0]).toMatchObject({
    type: 'text',
    text: expect.stringMatching(/^\[Document notes\.pdf, 1 KB\]\nline one\nline two$/),
  });
  expect(world.claude.violations()).toEqual([]);
});

/** A file that Telegram calls so large. */
const largeFile = (bytes: number) => {
  const fileId = world.telegram.addFile(Buffer.from('x'), 'documents/big.txt', bytes);
  return ask('', 1, CHAT, { extra: document({ fileId, fileName: 'big.txt', bytes }) });
};

variants<[string, () => Promise<unknown>, RegExp]>([
  ['of more than 20 MB', () => largeFile(21 * MB), /larger than 20 MB/],
  [
    'of an unsupported kind',
    () => sendFile('photo.jpg', Buffer.from([1, 0, 2, 0, 3])),
    /only pictures, PDF files and text/,
  ],
  ['that is empty', () => sendFile('notes.txt', Buffer.alloc(0)), /it's empty/],
  ['with too many pages', () => sendFile('long.pdf', pdfOf(101)), /too many pages/],
  ['that is a truncated picture', async () => sendPhoto((await jpegPhoto(900, 900)).subarray(0, 600)), /damaged/],
])('a file %s is refused with a notice, and the chat goes on', async (_, send, sentence) => {
  await start();
  expect(await send()).toMatchObject({ outcome: 'refused' });
  expect(shown()).toEqual([expect.stringMatching(sentence)]);
  expect(await ask('Never mind', 2)).toMatchObject({ outcome: 'answered' });
  expect(world.claude.violations()).toEqual([]);
});

test('a long text file is cut before it is first sent, and recall reads the rest', async () => {
  await start({ INBOUND_TEXT_MAX_CHARS: '1000' });
  world.claude.react((call) => {
    const found = /"ref\\*":\\*"(\w{64})\\*",\\*"from\\*":(\d+)/.exec(JSON.stringify(saidIn(call)));
    if (!found || call.kind !== 'main') return undefined;
    const input = { ref: found[1], from: Number(found[2]) };
    return { do: 'answer', content: [{ type: 'tool_use', id: `r${call.index}`, name: 'recall', input }] };
  });
  const long = Buffer.from(`begin ${'lorem ipsum '.repeat(300)}the end`);
  expect(await sendFile('long.txt', long)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().length).toBeGreaterThan(1);
  expect(JSON.stringify(saidIn(mainCalls().at(-1)))).toMatch(/the end/);
});

test('retries a file that is temporarily unavailable; the message keeps its place in the lane', async () => {
  await start();
  world.telegram.fail('getFile', { status: 502, description: 'Bad Gateway' }, 2);
  world.telegram.say(CHAT, '', { extra: photoOf(await jpegPhoto(100, 100), 'First') });
  await ask('Second', 2);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().map((call) => saidIn(call).at(-1)?.text)).toEqual(['First', 'Second']);
});
