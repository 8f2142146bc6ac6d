import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { PROJECT_ROOT } from './project.ts';

/** Where the bytes of files and archives are: in a folder, or in Redis itself. */
export type BlobPlace = { readonly kind: 'files'; readonly folder: string } | { readonly kind: 'redis' };

const EXPECTED = 'expected file:///an/absolute/folder, a folder relative to the project such as data/blobs, or redis:';
const NO_S3 =
  's3:// is not supported by this version; use a folder that all worker machines share (file:///…), or redis:';

/**
 * The setting that says where blobs are. A relative folder is one of the project, whatever the working directory is.
 */
export const blobPlace = z.string().transform((text, context): BlobPlace => {
  const place = placeOf(text.trim());
  if (typeof place !== 'string') return place;
  context.addIssue({ code: 'custom', message: place });
  return z.NEVER;
});

/** The place, or what is wrong with it. */
function placeOf(text: string): BlobPlace | string {
  if (/^redis:(?:\/\/)?$/.test(text)) return { kind: 'redis' };
  if (text.startsWith('s3:')) return NO_S3;
  if (/^file:\/\//.test(text)) return /^file:\/\/\/[^/]/.test(text) ? absolute(text) : EXPECTED;
  const folder = text.replace(/^file:/, '');
  if (folder === '' || folder.includes('\0') || /^[a-z][a-z\d+.-]*:/i.test(folder)) return EXPECTED;
  return { kind: 'files', folder: resolve(PROJECT_ROOT, folder) };
}

function absolute(url: string): BlobPlace | string {
  try {
    return { kind: 'files', folder: fileURLToPath(url) };
  } catch {
    return EXPECTED;
  }
}
