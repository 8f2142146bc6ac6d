/** The kind and the size of a picture, from its first bytes. */
export interface ImageHeader {
  mediaType: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
  /** In pixels. */
  width: number;
  height: number;
}

/**
 * Reads kind and size from a picture's bytes, not from its stated media type. Undefined if the picture is not one of the
 * four kinds that the API accepts, or if its header is incomplete. Total, and linear in the bytes.
 */
export function readImageHeader(bytes: Buffer): ImageHeader | undefined {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\xff\xd8')) return readJpeg(bytes);
  if (start.startsWith('\x89PNG') && bytes.length >= 24)
    return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (/^GIF8[79]a/.test(start) && bytes.length >= 10)
    return { mediaType: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  return /^RIFF.{4}WEBP/s.test(start) && bytes.length >= 30 ? readWebp(bytes) : undefined;
}

const SCAN_OR_END = new Set([0xda, 0xd9]);
const NO_FRAME = new Set([0xc4, 0xc8, 0xcc]);

/** Reads the size from the frame header, which may follow other segments, such as comments or a preview picture. */
function readJpeg(bytes: Buffer): ImageHeader | undefined {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    if (SCAN_OR_END.has(marker)) return undefined;
    if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAME.has(marker)) {
      return { mediaType: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    if (marker === 0xff)
      at += 1; // A fill byte. Any number of fill bytes may precede a marker.
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2;
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return undefined;
}

function readWebp(bytes: Buffer): ImageHeader | undefined {
  const mediaType = 'image/webp';
  switch (webpKind(bytes)) {
    case 'VP8X':
      return { mediaType, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const sides = bytes.readUInt32LE(21);
      return { mediaType, width: (sides & 0x3fff) + 1, height: ((sides >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { mediaType, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}

function webpKind(bytes: Buffer): string {
  return bytes.toString('latin1', 12, 16);
}

const WEBP_ALPHA_OR_ANIMATED = 0x12;
const WEBP_LOSSLESS_ALPHA = 0x10;

/** Whether a JPEG, PNG or WebP picture has neither transparency nor animation. False for a GIF and an unknown format. */
export function isOpaqueStill(bytes: Buffer): boolean {
  const mediaType = readImageHeader(bytes)?.mediaType;
  if (mediaType === 'image/png') {
    const isAlpha = ((bytes[25] ?? 0) & 4) !== 0;
    const ahead = bytes.subarray(0, bytes.indexOf('IDAT'));
    return !isAlpha && !ahead.includes('tRNS') && !ahead.includes('acTL');
  }
  if (mediaType !== 'image/webp') return mediaType === 'image/jpeg';
  if (webpKind(bytes) === 'VP8X') return ((bytes[20] ?? 0) & WEBP_ALPHA_OR_ANIMATED) === 0;
  return webpKind(bytes) !== 'VP8L' || ((bytes[24] ?? 0) & WEBP_LOSSLESS_ALPHA) === 0;
}

/** The findings of a rough scan of a PDF. */
interface PdfHeader {
  /** At least 1. Does not count pages in compressed objects. */
  pages: number;
  encrypted: boolean;
}

const TOKENS = /\/Type\s*\/(Pages?)(?![A-Za-z])|\/Count\s+(\d+)|\/Encrypt(?![A-Za-z])|endobj/g;
const MAGIC_WITHIN_BYTES = 1024;

/**
 * Counts a PDF's pages by its page tree or, without a readable tree, by its page objects, which in an edited file may include
 * replaced pages. Uses only counts inside an object of the page tree, since outlines have their own counts. Undefined if the
 * bytes are not a PDF. Total, and linear.
 */
export function readPdf(bytes: Buffer): PdfHeader | undefined {
  if (!bytes.toString('latin1', 0, MAGIC_WITHIN_BYTES).includes('%PDF-')) return undefined;
  let leaves = 0;
  let tree = 0;
  let encrypted = false;
  let inTree = false;
  let count = 0;
  const closeObject = (): void => {
    if (inTree) tree = Math.max(tree, count);
    inTree = false;
    count = 0;
  };
  for (const [token, kind, digits] of bytes.toString('latin1').matchAll(TOKENS)) {
    if (kind === 'Page') leaves += 1;
    else if (kind === 'Pages') inTree = true;
    else if (digits !== undefined) count = Math.max(count, Number(digits));
    else if (token === 'endobj') closeObject();
    else encrypted = true;
  }
  closeObject();
  return { pages: Math.max(1, tree > 0 ? tree : leaves), encrypted };
}
