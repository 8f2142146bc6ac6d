import { graphemePrefix } from '../../shared/base/text.ts';

/** The longest name of a file that is sent, in UTF-16 units. */
const NAME_CHARS_MAX = 64;
const EXTENSION = /^\.[A-Za-z0-9]{1,10}$/;
const SEPARATORS = /[\\/]/;
/** Control, format and direction characters, halves of pairs, and what no file system takes. */
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}<>:"|?*]/gu;

/**
 * The name under which a file is sent: without a path, without characters that change how it is read, at most 64
 * characters long with its extension. Undefined where nothing is left of it, or it has no extension. Pure.
 */
export function fileName(wanted: string): string | undefined {
  const last = wanted.split(SEPARATORS).at(-1) ?? '';
  const plain = last.replace(UNFIT, '').replace(/\s+/gu, ' ').trim();
  const dot = plain.lastIndexOf('.');
  const [stem, extension] = [plain.slice(0, Math.max(0, dot)).replace(/^[.\s]+|[.\s]+$/gu, ''), plain.slice(dot)];
  if (dot < 1 || stem === '' || !EXTENSION.test(extension)) return undefined;
  return `${shortened(stem, NAME_CHARS_MAX - extension.length)}${extension}`;
}

function shortened(stem: string, charsMax: number): string {
  return stem.length <= charsMax ? stem : graphemePrefix(stem, charsMax).trimEnd();
}
