import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { kindOf, pictureFormat } from '../../../../worker/media/kind.ts';
import { pdfOf } from '../../../fixture/files.ts';
import { cpuMs, forAll, forCases, LINEAR_MS_MAX, rawTexts } from '../../../fixture/texts.ts';

const raw = (latin1: string): Buffer => Buffer.from(latin1, 'latin1');
const utf16 = (text: string, mark: string): Buffer => Buffer.concat([raw(mark), Buffer.from(text, 'utf16le')]);
const bigEndian = (text: string): Buffer => Buffer.concat([raw('\xfe\xff'), Buffer.from(text, 'utf16le').swap16()]);

const OTHER: readonly (readonly [string, Buffer])[] = [
  ['a control character in a text', raw('some text\x01')],
  ['a DEL character in a text', raw('some\x7ftext')],
  ['Latin-1', raw('Stra\xdfe')],
  ['UTF-16 without a byte order mark', Buffer.from('text', 'utf16le')],
  ['UTF-16 with a lone surrogate', utf16('a\ud83db', '\xff\xfe')],
  ['a video', raw('\0\0\0\x18ftypisom\0\0\x02\0isommp42')],
  ['a sound', raw('RIFF\x24\b\0\0WAVEfmt ')],
  ['half a picture signature', raw('\xff\xd8')],
];

test.each(OTHER)('%s is other: it cannot be read', (_, bytes) => {
  expect(kindOf(bytes)).toEqual({ kind: 'other' });
});

test.each<[string, Buffer]>([
  ['no bytes', Buffer.alloc(0)],
  ['white space', raw(' \r\n\t\f')],
  ['only a byte order mark', raw('\xef\xbb\xbf')],
  ['white space in UTF-16', utf16('\u3000\n', '\xff\xfe')],
])('%s is empty, not broken', (_, bytes) => {
  expect(kindOf(bytes)).toEqual({ kind: 'empty' });
});

test.each<[string, Buffer, string]>([
  ['UTF-8', Buffer.from('Grüße 世界 😀'), 'Grüße 世界 😀'],
  ['UTF-8 with a byte order mark', Buffer.from('\ufeffa,b\r\n1,2\r\n'), 'a,b\r\n1,2\r\n'],
  ['UTF-16 LE', utf16('Grüße 😀', '\xff\xfe'), 'Grüße 😀'],
  ['UTF-16 BE', bigEndian('Grüße 😀'), 'Grüße 😀'],
  ['a terminal log', raw('\x1b[31mred\x1b[0m\x07\x08\x0b\x0c\r\n'), '\x1b[31mred\x1b[0m\x07\x08\x0b\x0c\r\n'],
  ['a text about pictures', raw('BMW builds cars, II*0 and MM do not.'), 'BMW builds cars, II*0 and MM do not.'],
  ['SVG', raw('<svg xmlns="http://www.w3.org/2000/svg"/>'), '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ['a text about PDF', raw('The header is %PDF-1.7.'), 'The header is %PDF-1.7.'],
])('%s is text, returned without a byte order mark', (_, bytes, text) => {
  expect(kindOf(bytes)).toEqual({ kind: 'text', text });
});

test('a PDF is recognised by its header, also after up to 1,019 other bytes', () => {
  const pdf = pdfOf(1);
  expect(kindOf(pdf)).toEqual({ kind: 'pdf' });
  expect(kindOf(Buffer.concat([raw('\xef\xbb\xbf\r\n'), pdf]))).toEqual({ kind: 'pdf' });
  expect(kindOf(Buffer.concat([raw('\xff'.repeat(1019)), pdf]))).toEqual({ kind: 'pdf' });
  expect(kindOf(Buffer.concat([raw('\xff'.repeat(1020)), pdf]))).toEqual({ kind: 'other' });
});

test.each<[string, string]>([
  ['jpeg', '\xff\xd8\xff\xe0'],
  ['png', '\x89PNG\r\n\x1a\n'],
  ['gif', 'GIF87a'],
  ['gif', 'GIF89a'],
  ['webp', 'RIFF\x01\x02\n\x04WEBPVP8 '],
  ['tiff', 'II*\0\x08\0\0\0'],
  ['tiff', 'MM\0*\0\0\0\x08'],
  ['tiff', 'II+\0\x08\0\0\0'],
  ['bmp', 'BM\x36\n\0\0\0\0\0\0\x36\0\0\0(\0\0\0'],
  ['avif', '\0\0\0\x20ftypavif\0\0\0\0avifmif1miaf'],
  ['avif', '\0\0\0\x20ftypmif1\0\0\0\0avifmiaf'],
  ['heic', '\0\0\0\x20ftypheic\0\0\0\0mif1heic'],
  ['heic', '\0\0\0\x20ftypmif1\0\0\0\0heix'],
])('a %s is recognised by its first bytes: %j', (format, head) => {
  expect(pictureFormat(raw(head))).toBe(format);
  expect(kindOf(raw(head))).toEqual({ kind: 'picture', format });
});

test('kindOf never throws, and returns a text exactly as it was written', () => {
  const starts = fc.constantFrom('', '\xff\xd8\xff', 'GIF89a', '%PDF-', '\xff\xfe', '\xfe\xff', '\0\0\0\x20ftyp', 'BM');
  forCases(1_000, [starts, fc.uint8Array({ maxLength: 80 })], (start, tail) => {
    const told = kindOf(Buffer.concat([raw(start), tail]));
    if (told.kind === 'text') expect([told.text.isWellFormed(), told.text.includes('\0')]).toEqual([true, false]);
  });
  let texts = 0;
  forAll([rawTexts(20)], (written) => {
    const text = written.toWellFormed().replaceAll('\ufeff', '');
    const told = kindOf(Buffer.from(text));
    if (told.kind !== 'text') return;
    texts += 1;
    expect(told.text).toBe(text);
    expect(kindOf(utf16(text, '\xff\xfe'))).toEqual(told);
  });
  expect(texts).toBeGreaterThan(20);
});

test('kindOf takes linear time on 20 MB', () => {
  const start = cpuMs();
  expect(kindOf(Buffer.alloc(20_000_000, 'word 世界\n')).kind).toBe('text');
  expect(kindOf(Buffer.alloc(20_000_000, 'ftypBM%PDF-\x01')).kind).toBe('pdf');
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});
