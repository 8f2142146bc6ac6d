import { clip, redact } from '../../shared/base/text.ts';

/**
 * A text as a seed quotes it: on one line, without credentials and without anything that could pass for a line of the
 * frame.
 */
export function quote(text: string, maxChars: number): string {
  const plain = redact(text.toWellFormed()).replace(/\s+/g, ' ').trim();
  return clip(plain.replace(/-{4,}/g, '---').replace(/\[END of/gi, '(end of'), maxChars);
}
