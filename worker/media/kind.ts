/** How a picture is encoded, whether or not this gateway can decode it. */
type PictureFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'avif' | 'heic' | 'tiff' | 'bmp';

/** The maximum size of a picture in a request to the model. */
export const PICTURE_BYTES_MAX = 3_500_000;

/** The kind of a file. A text comes decoded, because only decoding can show that bytes are a text. */
export type Kind =
  | { kind: 'empty' }
  | { kind: 'picture'; format: PictureFormat }
  | { kind: 'pdf' }
  | { kind: 'text'; text: string }
  | { kind: 'other' };

/**
 * Determines the kind of a file from its bytes alone, since the name and the declared type are only the sender's claims. Text
 * is valid UTF-8, or UTF-16 with a byte order mark, without control characters that no text contains; the result omits the byte
 * order mark. Blank text counts as empty. SVG and HTML count as text, because nothing renders them. Pure, total; takes linear
 * time.
 */
export function kindOf(bytes: Buffer): Kind {
  const format = pictureFormat(bytes);
  if (format) return { kind: 'picture', format };
  const head = bytes.toString('latin1', 0, PDF_MAGIC_WITHIN_BYTES);
  if (PDF_START.test(head)) return { kind: 'pdf' };
  const text = textIn(bytes);
  if (text !== undefined) return text.trim() === '' ? { kind: 'empty' } : { kind: 'text', text };
  // PDF readers accept other bytes before the header. A text that mentions "%PDF-" was already recognised as a text above.
  return head.includes('%PDF-') ? { kind: 'pdf' } : { kind: 'other' };
}

const PDF_MAGIC_WITHIN_BYTES = 1024;
const PDF_START = /^(?:\xef\xbb\xbf)?\s*%PDF-/;

/** The format of a picture according to its first bytes; undefined for other bytes. Pure, total. */
export function pictureFormat(bytes: Buffer): PictureFormat | undefined {
  const head = bytes.toString('latin1', 0, HEAD_BYTES);
  return FORMATS.find(([, starts]) => starts.test(head))?.[0] ?? heifFormat(head);
}

const HEAD_BYTES = 64;
/** A BMP starts with letters that a text may also start with, so the pattern includes its reserved fields and header size. */
const FORMATS: readonly (readonly [PictureFormat, RegExp])[] = [
  ['jpeg', /^\xff\xd8\xff/],
  ['png', /^\x89PNG\r\n/],
  ['gif', /^GIF8[79]a/],
  ['webp', /^RIFF.{4}WEBP/s],
  ['tiff', /^(?:II[*+]\0|MM\0[*+])/],
  ['bmp', /^BM.{4}\0{4}.{4}[\f(4@8l|]\0{3}/s],
];

/** Tells AVIF from HEIC: both use a container that lists the formats with which its content is compatible. */
function heifFormat(head: string): PictureFormat | undefined {
  const brands = /^.{4}ftyp(.*)/s.exec(head)?.[1]?.match(/.{4}/gs) ?? [];
  if (brands.some((brand) => /^avi[fs]$/.test(brand))) return 'avif';
  return brands.some((brand) => /^(?:he[iv][cmsx]|mif1|msf1)$/.test(brand)) ? 'heic' : undefined;
}

function textIn(bytes: Buffer): string | undefined {
  try {
    // `TextDecoder` removes the byte order mark.
    const text = new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
    return hasJunk(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function encodingOf(bytes: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
}

const FIRST_PRINTABLE = 0x20;
const DELETE = 0x7f;
/** Control characters that occur in texts, such as the log of a terminal: bell to carriage return, and escape. */
const LAYOUT: ReadonlySet<number> = new Set([0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b]);

function hasJunk(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === DELETE || (unit < FIRST_PRINTABLE && !LAYOUT.has(unit))) return true;
  }
  return false;
}
