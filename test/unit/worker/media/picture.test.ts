import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import { type FittedPicture, fitPicture, PICTURE_LIMITS } from '../../../../worker/media/picture.ts';
import { readImageHeader } from '../../../../worker/model/media-header.ts';
import { blankPng, jpegPhoto, noisePng } from '../../../fixture/files.ts';
import { cpuMs, forAllAsync } from '../../../fixture/texts.ts';

const RED = { r: 200, g: 0, b: 0 };
const BLUE = { r: 0, g: 0, b: 200 };

/** A picture that must fit, and what the bytes themselves say about it. */
async function fitted(bytes: Buffer, limits = PICTURE_LIMITS): Promise<Extract<FittedPicture, { ok: true }>> {
  const picture = await fitPicture(bytes, limits);
  if (!picture.ok) throw new Error(picture.why);
  const { mediaType, width, height } = picture;
  expect(readImageHeader(picture.bytes)).toEqual({ mediaType, width, height });
  return picture;
}

const red = (width: number, height: number): Sharp =>
  sharp({ create: { width, height, channels: 3, background: RED } });

/** The colour of one pixel. */
async function pixel({ bytes }: { bytes: Buffer }, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  return [...data.subarray((y * info.width + x) * info.channels).subarray(0, info.channels)];
}

const isNear = (colour: number[], { r, g, b }: typeof RED): boolean =>
  [r, g, b].every((part, at) => Math.abs(part - (colour[at] ?? -99)) < 12);

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
const BMP = 'BM\x3a\0\0\0\0\0\0\0\x36\0\0\0(\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0'.padEnd(58, '\0');

test.each([
  ['SVG', SVG],
  ['a pixmap', 'P6 1 1 255 abc'],
  ['HEIC', '\0\0\0\x18ftypheic\0\0\0\0mif1heic\0\0\0\x08meta'],
  ['BMP', BMP],
])('%s is refused as picture_format', async (_, text) => {
  expect(await fitPicture(Buffer.from(text, 'latin1'))).toEqual({ ok: false, why: 'picture_format' });
});

test('the SVG decoder of sharp is disabled', async () => {
  await expect(sharp(Buffer.from(SVG)).metadata()).rejects.toThrow('unsupported image format');
});

test('a picture that is cut off is refused', async () => {
  for (const format of ['jpeg', 'png', 'webp', 'avif', 'tiff', 'gif'] as const) {
    const whole = await red(400, 300).toFormat(format).toBuffer();
    for (const part of [0.2, 0.5, 0.9]) {
      const cut = await fitPicture(whole.subarray(0, Math.floor(whole.length * part)));
      expect([format, part, cut.ok]).toEqual([format, part, false]);
    }
  }
});

test.each<[string, number, number, Parameters<typeof blankPng>[2]]>([
  ['more pixels than a camera has', 15_000, 10_000, {}],
  ['a side of 500,000 pixels', 500_000, 1_000, {}],
  ['interlaced pixels that must all be held at once', 10_000, 10_000, { alpha: true, interlaced: true }],
])('a small file with %s is refused as huge_picture before it is decoded', async (_, width, height, options) => {
  const bomb = blankPng(width, height, options);
  expect(bomb.length).toBeLessThan(2_000_000);
  const fromMs = cpuMs();
  expect(await fitPicture(bomb)).toEqual({ ok: false, why: 'huge_picture' });
  expect(cpuMs() - fromMs).toBeLessThan(500);
});

test('AVIF and GIF, whose pixels must all be held at once, are refused as huge_picture by what they cost', async () => {
  const avif = await red(4_300, 3_000).avif({ effort: 0 }).toBuffer();
  const gif = await red(9, 9).gif().toBuffer();
  const frame = gif.indexOf(Buffer.from([0x2c, 0, 0, 0, 0])) + 5;
  for (const at of [6, 8, frame, frame + 2]) gif.writeUInt16LE(7_000, at);
  for (const bomb of [avif, gif]) {
    expect(bomb.length).toBeLessThan(2_000);
    expect(await fitPicture(bomb)).toEqual({ ok: false, why: 'huge_picture' });
  }
});

test('pixels of 16 bits that come row by row are read, however many', async () => {
  await fitted(blankPng(10_000, 10_000, { depth: 16, alpha: true }));
});

test('removes EXIF, GPS, XMP and ICC metadata from a photo', async () => {
  const gps = {
    GPSLatitudeRef: 'N',
    GPSLatitude: '52/1 31/1 0/1',
    GPSLongitudeRef: 'E',
    GPSLongitude: '13/1 24/1 0/1',
  };
  const photo = await red(300, 200)
    .withExif({ IFD0: { Make: 'SecretPhone', Artist: 'Ann' }, IFD3: gps })
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">SecretPlace</x:xmpmeta>')
    .withIccProfile('p3')
    .jpeg()
    .toBuffer();
  expect(photo.toString('latin1')).toMatch(/SecretPhone.*SecretPlace/s);
  for (const bytes of [photo, await sharp(photo).keepMetadata().png().toBuffer()]) {
    const picture = await fitted(bytes);
    expect(picture.bytes.toString('latin1')).not.toMatch(/Exif|eXIf|Secret|GPS|xmp|ICC_PROFILE|iCCP|Ann/);
    const { exif, xmp, icc, iptc } = await sharp(picture.bytes).metadata();
    expect([exif, xmp, icc, iptc]).toEqual([undefined, undefined, undefined, undefined]);
  }
});

test('rotates a sideways photo upright', async () => {
  const sideways = await sharp(await jpegPhoto(80, 40, BLUE))
    .composite([{ input: await jpegPhoto(40, 40, RED), left: 0, top: 0 }])
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  const upright = await fitted(sideways);
  expect([upright.width, upright.height]).toEqual([40, 80]);
  expect(isNear(await pixel(upright, 20, 5), RED)).toBe(true);
  expect(isNear(await pixel(upright, 20, 75), BLUE)).toBe(true);
});

test.each([
  [3_200, 2_400, 1568, 1176],
  [1_568, 1_568, 1568, 1568],
  [12_000, 2, 1568, 1],
  [33, 44, 33, 44],
])('a photo of %d x %d px is sent with %d x %d', async (width, height, fitWidth, fitHeight) => {
  expect(await fitted(await jpegPhoto(width, height))).toMatchObject({
    mediaType: 'image/jpeg',
    width: fitWidth,
    height: fitHeight,
  });
});

test('a photo in any format becomes a JPEG of the same colour, a screenshot stays a PNG, and a noisy PNG becomes a JPEG', async () => {
  for (const format of ['jpeg', 'webp', 'avif', 'tiff'] as const) {
    const picture = await fitted(await red(64, 48).toFormat(format).toBuffer());
    expect([format, picture.mediaType, picture.width, picture.height]).toEqual([format, 'image/jpeg', 64, 48]);
    expect(isNear(await pixel(picture, 30, 20), RED)).toBe(true);
  }
  const screenshot = await fitted(await red(800, 600).png().toBuffer());
  expect([screenshot.mediaType, await pixel(screenshot, 9, 9)]).toEqual(['image/png', [200, 0, 0]]);
  const noise = await noisePng(700, 500, 3);
  const [once, again] = [await fitted(noise), await fitted(noise)];
  expect(once.mediaType).toBe('image/jpeg');
  // The same bytes every time, so that it is stored and cached once.
  expect(again.bytes.equals(once.bytes)).toBe(true);
});

test('keeps transparency, and drops an alpha channel that is fully opaque', async () => {
  const clear = { r: 9, g: 9, b: 9, alpha: 0.25 };
  const glass = await sharp({ create: { width: 9, height: 9, channels: 4, background: clear } })
    .png()
    .toBuffer();
  const picture = await fitted(glass);
  expect([picture.mediaType, await pixel(picture, 4, 4)]).toEqual(['image/png', [9, 9, 9, 64]]);
  expect(await fitted(await sharp(glass).webp().toBuffer())).toMatchObject({ mediaType: 'image/png' });
  const solid = await red(9, 9).ensureAlpha(1).png().toBuffer();
  expect(await pixel(await fitted(solid), 4, 4)).toEqual([200, 0, 0]);
  expect(await fitted(await sharp(solid).webp().toBuffer())).toMatchObject({ mediaType: 'image/jpeg' });
});

test('accepts grey, 16-bit, CMYK and palette pictures', async () => {
  const inks = await red(20, 10).toColourspace('cmyk').jpeg().toBuffer();
  const palette = await red(20, 10).png({ palette: true }).toBuffer();
  for (const bytes of [inks, palette]) expect(await fitted(bytes)).toMatchObject({ width: 20, height: 10 });
  const raw = { width: 20, height: 10, channels: 1 } as const;
  const grey = await sharp(Buffer.alloc(200, 0x60), { raw }).toColourspace('b-w').png().toBuffer();
  expect(await pixel(await fitted(grey), 5, 5)).toEqual([0x60, 0x60, 0x60]);
  const deep = await sharp(new Uint16Array(200).fill(0x8000), { raw }).toColourspace('rgb16').png().toBuffer();
  expect((await sharp(deep).metadata()).depth).toBe('ushort');
  expect(await pixel(await fitted(deep), 5, 5)).toEqual([0x80, 0x80, 0x80]);
});

test('sends the first frame of an animation', async () => {
  const frames = await Promise.all([RED, BLUE].map((colour) => jpegPhoto(32, 32, colour)));
  const animation = sharp(frames, { join: { animated: true } });
  expect((await sharp(await animation.clone().gif().toBuffer()).metadata()).pages).toBe(2);
  for (const bytes of [await animation.clone().gif().toBuffer(), await animation.clone().webp().toBuffer()]) {
    const picture = await fitted(bytes);
    expect([picture.width, picture.height]).toEqual([32, 32]);
    expect(isNear(await pixel(picture, 9, 9), RED)).toBe(true);
  }
});

test.each([
  [3, 400_000, 'image/png'],
  [3, 18_000, 'image/jpeg'],
  [3, 14_000, 'image/jpeg'],
  [3, 10_500, 'image/jpeg'],
  [3, 5_000, undefined],
  [4, 400_000, 'image/png'],
  [4, 54_000, 'image/webp'],
  [4, 36_000, 'image/webp'],
  [4, 25_000, 'image/webp'],
  [4, 20_000, undefined],
] as const)('noise in %d channels with a limit of %d bytes is sent as %s', async (channels, bytesMax, mediaType) => {
  const picture = await fitPicture(await noisePng(150, 150, channels), { ...PICTURE_LIMITS, bytesMax });
  expect(picture.ok ? picture.mediaType : undefined).toBe(mediaType);
  expect(picture.ok ? picture.bytes.length : 0).toBeLessThanOrEqual(bytesMax);
});

test('fitPicture never throws on a damaged picture', async () => {
  const jpeg = await jpegPhoto(20, 20);
  const [gif, webp] = [await red(9, 9).gif().toBuffer(), await red(9, 9).webp().toBuffer()];
  const starts = [jpeg.subarray(0, 20), jpeg, blankPng(9, 9), gif, webp];
  const damaged = fc
    .tuple(fc.constantFrom(...starts), fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 12 }))
    .map(([start, at, junk]) => {
      const bytes = Buffer.concat([start, junk]);
      bytes.set(junk, at % start.length);
      return bytes;
    });
  await forAllAsync([damaged], async (bytes) => {
    const picture = await fitPicture(bytes);
    if (picture.ok) expect(readImageHeader(picture.bytes)).toBeDefined();
  });
});
