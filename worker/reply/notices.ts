import type { FileProblem, Texts } from '../../shared/texts/language.ts';
import type { Part } from '../recovery/parts.ts';

const REMOVED_NAMED_MAX = 5;

/** The notice for a message of an unsupported kind. `what` is Telegram's name for the kind. */
export function unsupportedKind(texts: Texts, what: string): string {
  const kinds: Readonly<Record<string, string>> = texts.kinds;
  return texts.unsupportedKind(kinds[what] ?? what.replaceAll('_', ' '));
}

/** The notice for an unreadable file. `name` is the file's name, if it has one. */
export function unreadableFile(texts: Texts, why: FileProblem, name?: string): string {
  return texts.unreadableFile(texts.fileProblem[why], name);
}

/** The notice that the model no longer gets some parts of a conversation. */
export function removedNotice({ leftOut, removed }: Texts, parts: readonly Pick<Part, 'name' | 'title'>[]): string {
  const names = new Set(parts.map(({ name, title = '' }) => (name === 'named' ? leftOut.named(title) : leftOut[name])));
  return removed([...names].slice(0, REMOVED_NAMED_MAX), names.size > REMOVED_NAMED_MAX);
}
