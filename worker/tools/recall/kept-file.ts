import { readAttachment } from '../../media/attachment.ts';
import { kindOf, PICTURE_BYTES_MAX } from '../../media/kind.ts';
import type { Block } from '../../model/block.ts';
import { readImageHeader } from '../../model/image-header.ts';

const SIDE_PX_MAX = 8_000;
const PDF_LIMITS = { pdfPagesMax: 100, textMaxChars: 0 };

/**
 * Kept bytes as a block that the API takes in the result of a tool, which refers to them: a picture or a PDF within the
 * limits. Undefined for any others. Contract: never rejects, except when no decoder can be started.
 */
export async function keptFile(bytes: Buffer, sha256: string): Promise<Block | undefined> {
  const { kind } = kindOf(bytes);
  if (kind === 'picture') return keptPicture(bytes, sha256);
  if (kind !== 'pdf') return undefined;
  const attached = await readAttachment(bytes, undefined, PDF_LIMITS);
  return attached.ok ? attached.block : undefined;
}

/** As it was kept: it was fitted then, and a picture that is encoded again is another one. */
function keptPicture(bytes: Buffer, sha256: string): Block | undefined {
  const header = readImageHeader(bytes);
  if (header === undefined || bytes.length > PICTURE_BYTES_MAX) return undefined;
  const { mediaType, width, height } = header;
  if (Math.max(width, height) > SIDE_PX_MAX) return undefined;
  const source = { type: 'kept', sha256, media_type: mediaType, bytes: bytes.length, width, height };
  return { type: 'image', source };
}
