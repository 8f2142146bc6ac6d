/** What the bytes of an image say about it, whatever its declared media type is. */
export interface ImageFacts {
  mediaType: string;
  width: number;
  height: number;
}

type Reader = (bytes: Buffer) => ImageFacts | undefined;

const png: Reader = (bytes) =>
  bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47
    ? { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined;

const gif: Reader = (bytes) =>
  bytes.length >= 10 && /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6))
    ? { mediaType: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    : undefined;

/** A jpeg states its size in a start-of-frame segment, which may stand behind a long preview picture. */
const jpeg: Reader = (bytes) => {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  let at = 2;
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const frame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (frame)
      return { mediaType: 'image/jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return { mediaType: 'image/jpeg', width: 0, height: 0 };
};

const webp: Reader = (bytes) => {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined;
  }
  const mediaType = 'image/webp';
  const format = bytes.toString('latin1', 12, 16);
  if (format === 'VP8X') return { mediaType, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (format === 'VP8L') {
    const packed = bytes.readUInt32LE(21);
    return { mediaType, width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 };
  }
  return { mediaType, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
};

/** Reads type and size from the header. Undefined when the bytes are none of the four kinds that the API takes. */
export function imageFacts(bytes: Buffer): ImageFacts | undefined {
  for (const read of [png, jpeg, gif, webp]) {
    const facts = read(bytes);
    if (facts !== undefined) return facts;
  }
  return undefined;
}

/** What the bytes of a PDF say about it. */
export interface PdfFacts {
  pages: number;
  encrypted: boolean;
}

/**
 * A rough look into a PDF: page objects are counted where they stand in the clear, and the page tree's own count
 * serves where they are compressed. Undefined when it is no PDF at all.
 */
export function pdfFacts(bytes: Buffer): PdfFacts | undefined {
  const text = bytes.toString('latin1');
  if (!text.slice(0, 1024).includes('%PDF-')) return undefined;
  const objects = text.match(/\/Type\s*\/Page(?![a-zA-Z])/g)?.length ?? 0;
  const counts = [...text.matchAll(/\/Count\s+(\d+)/g)].map((match) => Number(match[1]));
  return { pages: Math.max(1, objects, ...counts), encrypted: /\/Encrypt\b/.test(text) };
}
