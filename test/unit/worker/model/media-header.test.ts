import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readImageHeader, readPdf } from '../../../../worker/model/media-header.ts';
import { forCases } from '../../../fixture/texts.ts';

const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');
const raw = (latin1: string): Buffer => Buffer.from(latin1, 'latin1');

/** The smallest pictures that browsers are tested with: each is one pixel. */
const REAL = `
image/png png iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==
image/gif gif R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7
image/webp lossy-webp UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA
image/webp lossless-webp UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==
image/webp webp-with-alpha UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==
image/jpeg progressive-jpeg /9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=`
  .trim()
  .split('\n')
  .map((line) => line.split(' ') as [mediaType: string, kind: string, base64: string]);

test.each(REAL)('%s: reads a real %s as one pixel', (mediaType, _, base64) => {
  expect(readImageHeader(bytes(base64))).toEqual({ mediaType, width: 1, height: 1 });
});

function webp(format: string, write: (file: Buffer) => void): Buffer {
  const file = Buffer.alloc(30);
  file.write(`RIFF....WEBP${format}`, 'latin1');
  write(file);
  return file;
}

const segment = (marker: number, length: number): string =>
  String.fromCharCode(0xff, marker, length >> 8, length & 255) + '\0'.repeat(length - 2);
const frame = (marker: number): string => `${String.fromCharCode(0xff, marker)}\0\x11\x08\x01\x02\x03\x04\x03`;
const SIZED = { width: 0x304, height: 0x102 };

test('reads the size of WebP, PNG and GIF from their headers', () => {
  const lossy = webp('VP8 ', (file) => file.writeUInt32LE(0x4000_0000 + (513 << 16) + 0x8000 + 8001, 26));
  expect(readImageHeader(lossy)).toMatchObject({ width: 8001, height: 513 });
  const lossless = webp('VP8L', (file) => file.writeUInt32LE(8000 + 7001 * 2 ** 14, 21));
  expect(readImageHeader(lossless)).toMatchObject({ width: 8001, height: 7002 });
  const extended = webp('VP8X', (file) => {
    file.writeUIntLE(70_000, 24, 3);
    file.writeUIntLE(99, 27, 3);
  });
  expect(readImageHeader(extended)).toMatchObject({ width: 70_001, height: 100 });
  const png = Buffer.concat([bytes('iVBORw0KGgoAAAANSUhEUg=='), raw('\0\x01\0\x02\0\x03\0\x04')]);
  expect(readImageHeader(png)).toMatchObject({ width: 0x10002, height: 0x30004 });
  expect(readImageHeader(raw('GIF87a\x02\x01\x04\x03'))).toMatchObject({ width: 0x102, height: 0x304 });
});

test('reads the size of a JPEG from its first frame header, past other segments, and never past the scan', () => {
  const jpeg = (...parts: string[]): unknown => readImageHeader(raw(`\xff\xd8${parts.join('')}`));
  for (const marker of [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xcf]) expect(jpeg(frame(marker))).toMatchObject(SIZED);
  expect(jpeg(segment(0xe1, 0x2f01), segment(0xdb, 67), frame(0xc0))).toMatchObject(SIZED);
  for (const table of [0xc4, 0xc8, 0xcc]) expect(jpeg(segment(table, 31), frame(0xc2))).toMatchObject(SIZED);
  expect(jpeg('\xff\xff\xff', frame(0xc0).slice(1))).toMatchObject(SIZED);
  expect(jpeg('\xff\x01\xff\xd0\xff\xd7', frame(0xc0))).toMatchObject(SIZED);
  expect(jpeg(segment(0xd8, 20), frame(0xc0))).toMatchObject(SIZED);
  for (const end of ['\xff\xda', '\xff\xd9']) expect(jpeg(`${end}\0\x08\0\0\0\0\0\0`, frame(0xc0))).toBeUndefined();
  expect(jpeg('\0\0', frame(0xc0))).toBeUndefined();
  expect(jpeg('\xff\xe0\0\0'.repeat(3))).toBeUndefined();
});

test('readImageHeader finds no size in a header that is cut off; it and readPdf never throw', () => {
  const heads: readonly [number, Buffer][] = [
    [24, bytes(REAL[0]?.[2] ?? '')],
    [10, bytes(REAL[1]?.[2] ?? '')],
    [30, webp('VP8 ', () => {})],
  ];
  for (const [needed, file] of heads) {
    expect(readImageHeader(file.subarray(0, needed))).toBeDefined();
    expect(readImageHeader(file.subarray(0, needed - 1))).toBeUndefined();
  }
  const whole = raw(`\xff\xd8${frame(0xc0).slice(0, 9)}`);
  expect(readImageHeader(whole)).toMatchObject(SIZED);
  expect(readImageHeader(whole.subarray(0, -1))).toBeUndefined();
  expect(readImageHeader(webp('VP9 ', () => {}))).toBeUndefined();
  expect(readImageHeader(raw('RIFF....WAVEVP8X'.padEnd(40)))).toBeUndefined();
  const starts = fc.constantFrom('', '\xff\xd8\xff', '\x89PNG', 'GIF89a', 'RIFF....WEBPVP8 ', '%PDF-');
  forCases(1000, [starts, fc.uint8Array({ maxLength: 60 })], (start, tail) => {
    const file = Buffer.concat([raw(start), tail]);
    readImageHeader(file);
    readPdf(file);
  });
});

test('readPdf returns the page count and whether the PDF is encrypted, with its header in the first 1 KB', () => {
  const pdf = (body: string): unknown => readPdf(raw(`%PDF-1.7\n${body}`));
  expect(pdf('')).toEqual({ pages: 1, encrypted: false });
  expect(pdf('/Type/Page/Parent /Type /Page>> /Type /Pages /Type /PageLabel')).toMatchObject({ pages: 2 });
  expect(pdf('<</Type/Pages/Count 7>>endobj <</Count 9 /Type\n/Pages>>endobj /Count 99')).toMatchObject({ pages: 9 });
  expect(pdf('<</Type/Pages/Count 3>>endobj /Type /Page')).toMatchObject({ pages: 3 });
  expect(pdf('trailer <</Encrypt 5 0 R>>')).toMatchObject({ encrypted: true });
  expect(pdf('/EncryptMetadata false')).toMatchObject({ encrypted: false });
  expect(readPdf(raw(`${' '.repeat(1019)}%PDF-`))).toBeDefined();
  expect(readPdf(raw(`${' '.repeat(1020)}%PDF-`))).toBeUndefined();
});
