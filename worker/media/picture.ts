import sharp, { type Metadata, type OutputInfo, type Sharp } from 'sharp';
import type { FileProblem } from '../reply/notices.ts';
import { pictureFormat } from './kind.ts';

/** A picture as the model takes it, or why there is none. */
export type FittedPicture =
  | { ok: true; bytes: Buffer; mediaType: 'image/jpeg' | 'image/png' | 'image/webp'; width: number; height: number }
  | { ok: false; why: PictureProblem };

export type PictureProblem = Extract<FileProblem, 'picture_format' | 'broken_picture' | 'huge_picture' | 'too_slow'>;

/** What fitting a picture may cost. */
export interface PictureLimits {
  pixelsMax: number;
  /** What the picture holds uncompressed, twice where it cannot be decoded row by row. */
  memoryBytesMax: number;
  timeoutS: number;
  /** What the fitted picture may weigh. */
  bytesMax: number;
}

/** Phones take pictures of 108 megapixels; much more is a bomb. */
export const PICTURE_LIMITS: PictureLimits = {
  pixelsMax: 120_000_000,
  memoryBytesMax: 512_000_000,
  timeoutS: 10,
  bytesMax: 3_500_000,
};

/** The API scales what is larger down to this by itself, after it was sent and paid for. */
const SIDE_PX_MAX = 1568;
/** What has no loss weighs more than this only where it is a photo, and then loses nothing that one sees. */
const LOSSLESS_BYTES_MAX = 1_000_000;
const QUALITIES = [85, 70, 50] as const;

// These settings are the process's. A cache would only keep what is never asked for twice, and turns run side by side
// already. SVG and all else that a library could be talked into loading is out: pictures come from strangers.
sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif', 'Tiff'].map((format) => `VipsForeignLoad${format}Buffer`),
});

/** The end of the picture before: one at a time, since the memory that each may take is the process's. */
let before: Promise<unknown> = Promise.resolve();

/**
 * Makes a picture fit for the model: upright, at most 1568 px a side and 3.5 MB, without metadata (where it was taken,
 * by whom), as JPEG, or as PNG or WebP where it is transparent or is none of a camera's. Of an animation the first
 * frame. The same bytes give the same result.
 *
 * Contract: never rejects. Bombs are refused before they are decoded, and decoding ends after its time where its
 * library can be interrupted.
 */
export function fitPicture(bytes: Buffer, limits = PICTURE_LIMITS): Promise<FittedPicture> {
  const fitted = before.then(() => fitWithin(bytes, limits));
  before = fitted.then(() => {});
  return fitted;
}

async function fitWithin(bytes: Buffer, limits: PictureLimits): Promise<FittedPicture> {
  const format = pictureFormat(bytes);
  if (format === undefined) return { ok: false, why: 'picture_format' };
  const startedAt = performance.now();
  try {
    const picture = sharp(bytes, { failOn: 'error', limitInputPixels: limits.pixelsMax });
    const header = await picture.metadata();
    if (memoryBytes(header) > limits.memoryBytesMax) return { ok: false, why: 'huge_picture' };
    return await encode(await decode(picture, limits.timeoutS), header.format, limits.bytesMax);
  } catch (error) {
    if (performance.now() - startedAt >= limits.timeoutS * 1000) return { ok: false, why: 'too_slow' };
    if (/pixel limit/.test(String(error))) return { ok: false, why: 'huge_picture' };
    // No decoder of ours takes these two, damaged or not.
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

/** Decodes a picture into few enough pixels of 8 bits in sRGB, without what else it says. */
async function decode(picture: Sharp, timeoutS: number): Promise<Pixels> {
  const { data, info } = await picture
    .timeout({ seconds: timeoutS })
    .autoOrient()
    .resize({ width: SIDE_PX_MAX, height: SIDE_PX_MAX, fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, raw: { width: info.width, height: info.height, channels: info.channels } };
}

async function encode(pixels: Pixels, from: Metadata['format'], bytesMax: number): Promise<FittedPicture> {
  const { raw } = pixels;
  const isOpaque = !isTransparent(pixels);
  const drawn = isOpaque ? sharp(pixels.data, { raw }).removeAlpha() : sharp(pixels.data, { raw });
  const { width, height } = raw;
  // What a camera took is JPEG or in one of its successors; a screenshot must keep its sharp edges.
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

/** Many a screenshot has an alpha channel and nothing to see through. */
function isTransparent({ data, raw: { channels } }: Pixels): boolean {
  if (channels === 1 || channels === 3) return false;
  for (let at = channels - 1; at < data.length; at += channels) if (data[at] !== 0xff) return true;
  return false;
}
