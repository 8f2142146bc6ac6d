import sharp, { type Metadata, type OutputInfo, type Sharp } from 'sharp';
import type { FileProblem } from '../../shared/texts/language.ts';
import { PICTURE_BYTES_MAX, pictureFormat } from './kind.ts';

/** A picture in a form that the model accepts, or why there is none. */
export type FittedPicture =
  | { ok: true; bytes: Buffer; mediaType: 'image/jpeg' | 'image/png' | 'image/webp'; width: number; height: number }
  | { ok: false; why: PictureProblem };

type PictureProblem = Extract<FileProblem, 'picture_format' | 'broken_picture' | 'huge_picture'>;

/** Limits on the cost of fitting a picture. */
interface PictureLimits {
  pixelsMax: number;
  /** The memory that decoding may use, in addition to that of the decoder process; see `memoryBytes`. */
  memoryBytesMax: number;
  /** The maximum size of the fitted picture, in bytes. */
  bytesMax: number;
}

/** Some phones take pictures of 108 megapixels; a much larger picture is probably a decompression bomb. */
export const PICTURE_LIMITS: PictureLimits = {
  pixelsMax: 120_000_000,
  memoryBytesMax: 200_000_000,
  bytesMax: PICTURE_BYTES_MAX,
};

/** The API would scale a larger picture down to this size anyway, after an upload that costs time and money. */
const SIDE_PX_MAX = 1568;
/** In a lossless format, mostly photos exceed this size, and lossy compression of a photo loses nothing visible. */
const LOSSLESS_BYTES_MAX = 1_000_000;
const QUALITIES = [85, 70, 50] as const;

// A decoder process reads one picture, so a cache is useless. Formats that are not listed here, such as SVG, are blocked,
// because pictures come from strangers.
sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif', 'Tiff'].map((format) => `VipsForeignLoad${format}Buffer`),
});

/**
 * Fits a picture for the model: upright, at most 1568 px a side and 3.5 MB, without metadata such as the location or author.
 * A picture that is transparent, or was a PNG or GIF, becomes a PNG if the PNG is small. Otherwise, a transparent picture
 * becomes a WebP; all other pictures become JPEGs. Takes the first frame of an animation. The same bytes give the same result.
 *
 * Contract: never rejects. Refuses decompression bombs before it decodes them. A picture that states a false size can use up
 * all memory and time, or end the process, so this runs in the decoder process (`decoder.ts`).
 */
export async function fitPicture(bytes: Buffer, limits = PICTURE_LIMITS): Promise<FittedPicture> {
  const format = pictureFormat(bytes);
  if (format === undefined) return { ok: false, why: 'picture_format' };
  try {
    const picture = sharp(bytes, { failOn: 'error', limitInputPixels: limits.pixelsMax });
    const header = await picture.metadata();
    if (memoryBytes(header) > limits.memoryBytesMax) return { ok: false, why: 'huge_picture' };
    return await encode(await decode(picture), header.format, limits.bytesMax);
  } catch (error) {
    if (/pixel limit|memory/i.test(String(error))) return { ok: false, why: 'huge_picture' };
    // The library has no decoder for HEIC and BMP, so whether such a picture is damaged is unknown.
    return { ok: false, why: format === 'heic' || format === 'bmp' ? 'picture_format' : 'broken_picture' };
  }
}

const BYTES_PER_SAMPLE: Readonly<Record<string, number>> = { uchar: 1, char: 1, ushort: 2, short: 2 };
/** The measured memory of the codec, for 8 bits a sample and for more bits. */
const HEIF_BYTES_PER_PIXEL = { shallow: 16, deep: 24 };
const GIF_BYTES_PER_PIXEL = 5;

/** The peak memory of decoding. Decoding row by row needs next to none; any other decoding holds the whole picture. */
function memoryBytes({ format, width, height, channels, depth, isProgressive }: Metadata): number {
  const pixels = width * height;
  const sampleBytes = BYTES_PER_SAMPLE[depth ?? ''] ?? 8;
  if (format === 'heif') return pixels * HEIF_BYTES_PER_PIXEL[sampleBytes === 1 ? 'shallow' : 'deep'];
  if (format === 'gif') return pixels * GIF_BYTES_PER_PIXEL;
  return isProgressive ? pixels * channels * sampleBytes : 0;
}

interface Pixels {
  data: Buffer;
  raw: { width: number; height: number; channels: OutputInfo['channels'] };
}

/** Decodes a picture into sRGB pixels of 8 bits a channel, at most `SIDE_PX_MAX` a side, without metadata. */
async function decode(picture: Sharp): Promise<Pixels> {
  const { data, info } = await picture
    .autoOrient()
    .resize({ width: SIDE_PX_MAX, height: SIDE_PX_MAX, fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, raw: { width: info.width, height: info.height, channels: info.channels } };
}

async function encode(pixels: Pixels, from: Metadata['format'], bytesMax: number): Promise<FittedPicture> {
  const { raw } = pixels;
  const isOpaque = !isTransparent(pixels);
  const image = isOpaque ? sharp(pixels.data, { raw }).removeAlpha() : sharp(pixels.data, { raw });
  const { width, height } = raw;
  // A PNG or a GIF is usually a screenshot, which must keep its sharp edges. Photos are JPEGs or have newer formats.
  if (!isOpaque || from === 'png' || from === 'gif') {
    const bytes = await image.clone().png().toBuffer();
    if (bytes.length <= Math.min(LOSSLESS_BYTES_MAX, bytesMax))
      return { ok: true, bytes, mediaType: 'image/png', width, height };
  }
  for (const quality of QUALITIES) {
    const bytes = await (isOpaque
      ? image.clone().jpeg({ quality })
      : image.clone().webp({ quality, alphaQuality: quality, effort: 2 })
    ).toBuffer();
    if (bytes.length <= bytesMax)
      return { ok: true, bytes, mediaType: isOpaque ? 'image/jpeg' : 'image/webp', width, height };
  }
  return { ok: false, why: 'huge_picture' };
}

/** Whether any pixel is transparent, even partly. Many screenshots have an alpha channel, but no transparent pixel. */
function isTransparent({ data, raw: { channels } }: Pixels): boolean {
  if (channels === 1 || channels === 3) return false;
  for (let at = channels - 1; at < data.length; at += channels) if (data[at] !== 0xff) return true;
  return false;
}
