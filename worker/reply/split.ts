import { paragraph, plain } from '../../shared/flow/reply.ts';
import { entityParts, textOf } from './format/layout.ts';

/** Telegram's limit for a text message, in UTF-16 units. */
export const MESSAGE_CHARS_MAX = 4_096;

/**
 * Splits a plain text into parts that Telegram takes, in order, losing only white space at the cuts: at a line, else a
 * sentence, else a space, else a grapheme. No part is blank. Pure, total.
 */
export function splitReply(text: string): string[] {
  return entityParts([paragraph(plain(text.toWellFormed().trim()))]).map(textOf);
}
