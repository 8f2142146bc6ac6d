import type sharpLibrary from 'sharp';
import type { Metadata, OutputInfo, Sharp } from 'sharp';
import type { FileProblem } from '../../shared/texts/texts.ts';
import { pictureFormat } from './kind.ts';

/** A picture in the form that the model takes, or why there is none. */
export type FittedPicture =
  | { ok: true; bytes: Buffer; mediaType: 'image/jpeg' | 'image/png' | 'image/webp'; width: number; height: number }
  | { ok: false; why: PictureProblem };

export type PictureProblem = Extract<FileProblem, 'picture_format' | 'broken_picture' | 'huge_picture' | 'too_slow'>;

/** Limits on the cost of fitting a picture. */
export interface PictureLimits {
  pixelsMax: number;
  /** The picture's size uncompressed, counted twice where it cannot be decoded row by row. */
  memoryBytesMax: number;
  timeoutS: number;
  /** Most bytes of the fitted picture. */
  bytesMax: number;
}

/** Phones take pictures of 108 megapixels; a much larger one is a decompression bomb. */
export const PICTURE_LIMITS: PictureLimits = {
  pixelsMax: 120_000_000,
  memoryBytesMax: 512_000_000,
  timeoutS: 10,
  bytesMax: 3_500_000,
};

/** The API scales a larger picture down to this itself, after it was sent and paid for. */
const SIDE_PX_MAX = 1568;
/** Only a photo exceeds this in a lossless format; lossy compression then costs it nothing visible. */
const LOSSLESS_BYTES_MAX = 1_000_000;
const QUALITIES = [85, 70, 50] as const;

type Decoder = typeof sharpLibrary;

/** The decoder, once it was needed. */
let loaded: Promise<Decoder> | undefined;

/**
 * Loads the decoder with the first picture. Rejects where it has no program for this machine, in words that say what to
 * install.
 */
export function loadDecoder(): Promise<Decoder> {
  loaded ??= import('sharp').then(({ default: sharp }) => restricted(sharp));
  return loaded;
}

/**
 * These settings apply to the whole process. A cache would only keep what is never requested twice, and turns already
 * run side by side. SVG and every other format that the library might load is blocked: pictures come from strangers.
 */
function restricted(sharp: Decoder): Decoder {
  sharp.cache(false);
  sharp.concurrency(1);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({
    operation: ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif', 'Tiff'].map((format) => `VipsForeignLoad${format}Buffer`),
  });
  return sharp;
}

/** The end of the previous picture: one at a time, because the memory limit is that of the process. */
let before: Promise<unknown> = Promise.resolve();

/**
 * Fits a picture for the model: upright, at most 1568 px a side and 3.5 MB, without metadata (where it was taken, by
 * whom). The result is a JPEG, or a PNG or WebP where the picture is transparent or not from a camera. Of an animation
 * it takes the first frame. The same bytes give the same result.
 *
 * Contract: never rejects, whatever the bytes are; it rejects when the decoder cannot be loaded, which is no fault of
 * the picture. Bombs are refused before they are decoded, and decoding ends at its time limit where its library can be
 * interrupted.
 */
export function fitPicture(bytes: Buffer, limits = PICTURE_LIMITS): Promise<FittedPicture> {
  const fitted = before.then(() => fitWithin(bytes, limits));
  before = fitted.catch(() => {});
  return fitted;
}

async function fitWithin(bytes: Buffer, limits: PictureLimits): Promise<FittedPicture> {
  const format = pictureFormat(bytes);
  if (format === undefined) return { ok: false, why: 'picture_format' };
  const sharp = await loadDecoder();
  const startedAt = performance.now();
  try {
    const picture = sharp(bytes, { failOn: 'error', limitInputPixels: limits.pixelsMax });
    const header = await picture.metadata();
    if (memoryBytes(header) > limits.memoryBytesMax) return { ok: false, why: 'huge_picture' };
    return await encode(sharp, await decode(picture, limits.timeoutS), header.format, limits.bytesMax);
  } catch (error) {
    if (performance.now() - startedAt >= limits.timeoutS * 1000) return { ok: false, why: 'too_slow' };
    if (/pixel limit/.test(String(error))) return { ok: false, why: 'huge_picture' };
    // We have no decoder for these two, damaged or not.
    return { ok: false, why: format === 'heic' || format === 'bmp' ? 'picture_format' : 'broken_picture' };
  }
}

const BYTES_PER_SAMPLE: Readonly<Record<string, number>> = { uchar: 1, char: 1, ushort: 2, short: 2 };

function memoryBytes({ width, height, channels, depth, isProgressive }: Metadata): number {
  const sampleBytes = BYTES_PER_SAMPLE[depth ?? ''] ?? 8;
  return width * height * channels * sampleBytes * (isProgressive ? 2 : 1);
}

interface Pixels {
  data: Buffer;
  raw: { width: number; height: number; channels: OutputInfo['channels'] };
}

/** Decodes a picture into few enough pixels of 8 bits in sRGB, without its metadata. */
async function decode(picture: Sharp, timeoutS: number): Promise<Pixels> {
  const { data, info } = await picture
    .timeout({ seconds: timeoutS })
    .autoOrient()
    .resize({ width: SIDE_PX_MAX, height: SIDE_PX_MAX, fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, raw: { width: info.width, height: info.height, channels: info.channels } };
}

async function encode(
  sharp: Decoder,
  pixels: Pixels,
  from: Metadata['format'],
  bytesMax: number,
): Promise<FittedPicture> {
  const { raw } = pixels;
  const isOpaque = !isTransparent(pixels);
  const drawn = isOpaque ? sharp(pixels.data, { raw }).removeAlpha() : sharp(pixels.data, { raw });
  const { width, height } = raw;
  // A photo is a JPEG or one of its successors; a screenshot must keep its sharp edges.
  if (!isOpaque || from === 'png' || from === 'gif') {
    const bytes = await drawn.clone().png().toBuffer();
    if (bytes.length <= Math.min(LOSSLESS_BYTES_MAX, bytesMax))
      return { ok: true, bytes, mediaType: 'image/png', width, height };
  }
  for (const quality of QUALITIES) {
    const bytes = await (isOpaque
      ? drawn.clone().jpeg({ quality })
      : drawn.clone().webp({ quality, alphaQuality: quality, effort: 2 })
    ).toBuffer();
    if (bytes.length <= bytesMax)
      return { ok: true, bytes, mediaType: isOpaque ? 'image/jpeg' : 'image/webp', width, height };
  }
  return { ok: false, why: 'huge_picture' };
}

/** Many screenshots have an alpha channel and no transparent pixel. */
function isTransparent({ data, raw: { channels } }: Pixels): boolean {
  if (channels === 1 || channels === 3) return false;
  for (let at = channels - 1; at < data.length; at += channels) if (data[at] !== 0xff) return true;
  return false;
}
