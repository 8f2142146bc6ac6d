import { expect, test } from '@jest/globals';
import { AnswerMemory } from '../stand-in/claude/memory.ts';
import type { Block } from '../stand-in/claude/request.ts';
import { firstViolation } from '../stand-in/claude/rules.ts';
import {
  assistant,
  call,
  gif,
  image,
  jpeg,
  pages,
  pdf,
  png,
  result,
  user,
  webp,
} from '../stand-in/claude/specimens.ts';
import type { Grounds } from '../stand-in/claude/violation.ts';

const GROUNDS: Grounds = {
  maxOutputTokens: 8192,
  windowTokens: 200_000,
  fitErrors: false,
  bindThinking: false,
  memory: new AnswerMemory(),
};

type Case = [rule: number, name: string, content: Block[], says?: string];

const pictures = (count: number, side: number): Block[] => Array.from({ length: count }, () => image(png(side, 9)));
const KINDS = [
  image(png(9, 9)),
  image(jpeg(9, 9), 'image/jpeg'),
  image(gif(9, 9), 'image/gif'),
  image(webp(9, 9), 'image/webp'),
];
const NO_PDF: Block = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } };
const TEXT_FILE: Block = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'notes' } };

const ACCEPTED: Case[] = [
  [22, 'the four kinds of picture', KINDS],
  [22, 'a picture given by URL', [{ type: 'image', source: { type: 'url', url: 'https://example.org/x.png' } }]],
  [22, 'a picture of exactly 5 MB', [image(png(9, 9, 3_932_160))]],
  [23, 'a picture of 8000 px', [image(png(8000, 8000))]],
  [23, 'twenty large pictures', pictures(20, 2001)],
  [23, 'a hundred small pictures', pictures(100, 2000)],
  [24, 'a PDF of 100 pages', [pages(100)]],
  [24, 'a text file', [TEXT_FILE]],
];

const REFUSED: Case[] = [
  [22, 'a bitmap', [image(png(1, 1), 'image/bmp')], "media_type: Input should be 'image/jpeg'"],
  [22, 'a PNG declared as JPEG', [image(png(1, 1), 'image/jpeg')], 'it appears to be image/png'],
  [22, 'bytes that are not a picture', [image(Buffer.alloc(64).toString('base64'))], 'Could not process image'],
  [22, 'data that is not base64', [image('not base64!!')], 'Invalid base64 data'],
  [
    22,
    'a picture over 5 MB',
    [image(png(1, 1, 3_987_639))],
    'image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes',
  ],
  [23, 'a picture with a side of 8001 px', [image(png(10, 8001))], 'exceed max allowed size: 8000 pixels'],
  [23, 'a JPEG of 8001 px whose size stands after a preview', [image(jpeg(8001, 10), 'image/jpeg')], '8000 pixels'],
  [23, 'a GIF of 8001 px', [image(gif(8001, 10), 'image/gif')], '8000 pixels'],
  [23, 'a WebP of 8001 px', [image(webp(10, 8001), 'image/webp')], '8000 pixels'],
  [23, '21 pictures, one over 2000 px', [...pictures(20, 9), ...pictures(1, 2001)], 'many-image requests: 2000 pixels'],
  [23, '101 pictures', pictures(101, 9), 'Too many images: 101 > 100'],
  [24, 'a PDF of 101 pages', [pages(101)], 'A maximum of 100 PDF pages may be provided'],
  [24, 'a PDF whose pages only the page tree counts', [pdf('/Type /Pages /Count 700')], 'A maximum of 100 PDF pages'],
  [24, 'a PDF with a password', [pdf('/Type /Page trailer << /Encrypt 5 0 R >>')], 'password protected'],
  [24, 'bytes that are not a PDF', [NO_PDF], 'The PDF specified was not valid'],
];

const asked = (content: Block[]) => ({ model: 'm', max_tokens: 9, messages: [user('look', ...content)] });
const found = (content: Block[]) => ({
  model: 'm',
  max_tokens: 9,
  messages: [user('look'), assistant(call('t1')), user(result('t1', content))],
});

for (const [rule, name, content] of ACCEPTED) {
  test(`rule ${rule} accepts ${name}`, () => {
    expect(firstViolation(asked(content), GROUNDS)).toBeUndefined();
    expect(firstViolation(found(content), GROUNDS)).toBeUndefined();
  });
}

for (const [rule, name, content, says] of REFUSED) {
  test(`rule ${rule} refuses ${name}, sent by the user or returned by a tool`, () => {
    for (const [body, path] of [
      [asked(content), 'messages.0.content.'],
      [found(content), 'messages.2.content.0.tool_result.content.'],
    ] as const) {
      const violation = firstViolation(body, GROUNDS);
      expect(violation).toMatchObject({ rule, status: 400, type: 'invalid_request_error' });
      expect(violation?.message).toContain(says);
      if (content.length < 100) expect(violation?.message).toContain(path);
    }
  });
}

test('rule 24 accepts 600 PDF pages, and no more, with a window of 1,000,000 tokens', () => {
  const long = { ...GROUNDS, windowTokens: 1_000_000 };
  expect(firstViolation(asked([pages(600)]), long)).toBeUndefined();
  expect(firstViolation(asked([pages(601)]), long)).toMatchObject({ rule: 24 });
});
