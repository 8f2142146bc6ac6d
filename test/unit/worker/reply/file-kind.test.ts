import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import sharp from 'sharp';
import { fileKind } from '../../../../worker/reply/part.ts';
import { blankPng, jpegPhoto } from '../../../fixture/files.ts';
import { forAll } from '../../../fixture/texts.ts';

const drawn = (width: number, height: number, alpha = 1) =>
  sharp({ create: { width, height, channels: 4, background: { r: 200, g: 0, b: 0, alpha } } });

/** A PNG with one more chunk before its pixels. */
function withChunk(png: Buffer, type: string): Buffer {
  const at = png.indexOf('IDAT') - 4;
  return Buffer.concat([png.subarray(0, at), Buffer.from(`\0\0\0\0${type}\0\0\0\0`, 'latin1'), png.subarray(at)]);
}

const PNG = blankPng(800, 600);
const drawnGif = () => drawn(9, 9).gif().toBuffer();
const frames = [0, 255].flatMap((grey) => Array.from({ length: 8 * 8 * 3 }, () => grey));
const MOVING = sharp(Buffer.from(frames), { raw: { width: 8, height: 16, channels: 3, pageHeight: 8 } });

type Make = () => Buffer | Promise<Buffer>;

test.each<[string, string, Make]>([
  ['a PNG', 'chart.png', () => PNG],
  ['a JPEG', 'photo.JPG', () => jpegPhoto(640, 480)],
  ['a WebP', 'a.webp', () => drawn(80, 60).removeAlpha().webp().toBuffer()],
  ['a lossless WebP', 'a.webp', () => drawn(80, 60).removeAlpha().webp({ lossless: true }).toBuffer()],
  ['a picture of one kind under the name of another', 'chart.jpeg', () => PNG],
  ['one as large as is shown unscaled', 'a.png', () => blankPng(2_560, 128)],
  ['one of exactly 10 MB', 'a.png', () => Buffer.concat([PNG, Buffer.alloc(10_000_000 - PNG.length)])],
])('%s is a photo', async (_, name, make) => {
  expect(fileKind(name, await make())).toBe('photo');
});

test.each<[string, string, Make]>([
  ['a picture named otherwise', 'chart.bin', () => PNG],
  ['a picture without a name', '', () => PNG],
  ['a text named like a picture', 'chart.png', () => Buffer.from('<svg/>')],
  ['a picture whose header is cut', 'a.png', () => PNG.subarray(0, 20)],
  ['no bytes', 'a.png', () => Buffer.alloc(0)],
  ['one with a side that would be scaled down', 'a.png', () => blankPng(2_561, 2_000)],
  ['one that is too long', 'a.png', () => blankPng(2_560, 127)],
  ['one that is too high', 'a.png', () => blankPng(10, 201)],
  ['one without a width', 'a.png', () => blankPng(0, 9)],
  ['one of more than 10 MB', 'a.png', () => Buffer.concat([PNG, Buffer.alloc(10_000_001 - PNG.length)])],
  ['a transparent PNG', 'a.png', () => blankPng(9, 9, { alpha: true })],
  ['a PNG with a transparent colour', 'a.png', () => withChunk(PNG, 'tRNS')],
  ['a moving PNG', 'a.png', () => withChunk(PNG, 'acTL')],
  ['a GIF', 'a.gif', drawnGif],
  ['a GIF named like a PNG', 'a.png', drawnGif],
  ['a transparent WebP', 'a.webp', () => drawn(9, 9, 0.5).webp().toBuffer()],
  ['a transparent lossless WebP', 'a.webp', () => drawn(9, 9, 0.5).webp({ lossless: true }).toBuffer()],
  ['a moving WebP', 'a.webp', () => MOVING.webp().toBuffer()],
  ['an SVG', 'a.svg', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ['a text', 'a.md', () => Buffer.from('# Notes')],
])('%s is a document', async (_, name, make) => {
  expect(fileKind(name, await make())).toBe('document');
});

test.each([
  ['speech.mp3', 'ID3\x04\0', 'audio'],
  ['speech.MP3', '\xff\xfb\x90', 'audio'],
  ['speech.m4a', '\0\0\0\x20ftypM4A ', 'audio'],
  ['speech.ogg', 'OggS\0', 'audio'],
  ['speech.mp3', 'OggS\0', 'document'],
  ['speech.ogg', 'ID3\x04\0', 'document'],
  ['speech.wav', 'RIFF\0\0\0\0WAVE', 'document'],
  ['video.mp4', '\0\0\0\x20ftypisom', 'document'],
  ['text.mp3', 'Sorry, no voice today', 'document'],
  ['mp3', 'ID3\x04\0', 'document'],
])('%s that begins with %j is sent as %s', (name, begins, kind) => {
  expect(fileKind(name, Buffer.from(begins.padEnd(64, '\0'), 'latin1'))).toBe(kind);
});

test('whatever the name and the bytes, there is a kind', () => {
  const begins = fc.constantFrom('', '\x89PNG', '\xff\xd8', 'RIFF....WEBPVP8X', 'RIFF....WEBPVP8L', 'ID3');
  const names = fc.oneof(fc.string(), fc.constantFrom('a.png', 'a.webp', 'a.jpg', 'a.mp3'));
  forAll([names, begins, fc.uint8Array({ maxLength: 64 })], (name, start, rest) => {
    const bytes = Buffer.concat([Buffer.from(start, 'latin1'), rest]);
    expect(['photo', 'audio', 'document']).toContain(fileKind(name, bytes));
  });
});
