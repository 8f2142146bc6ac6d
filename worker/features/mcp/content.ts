import { CallToolResultSchema, ContentBlockSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { clip, graphemePrefix } from '../../../shared/base/text.ts';
import { type ToolOutput, type ToolPart, toolError } from '../../tools/toolbox.ts';

/** How much of one answer the model gets: UTF-16 units of all texts together, and pieces of content. */
export const CONTENT_LIMITS = { textCharsMax: 4 * 1024 * 1024, itemsMax: 1_000 };

/** Matches at most 1,000 characters at once: a run of millions can exhaust the stack of a regular expression. */
const BLANKS = /[\s\p{Cc}]{1,1000}/gu;
const LABEL_CHARS_MAX = 300;
/** The beginning of a PNG, JPEG, GIF or WebP in base64; the 200 characters after it rule out a word. A slash may be escaped. */
const PICTURE_START = /(?:iVBORw0KGgo|\\?\/9j\\?\/|R0lGOD|UklGR)[A-Za-z0-9+/=\\]{200}/g;
const NOT_BASE64 = /[^A-Za-z0-9+/=\\]/g;

/** The SDK's schema of an answer, but with any value as content: of millions of pieces, only the first 1,000 are read. */
const answerForm = CallToolResultSchema.extend({ content: z.array(z.unknown()).default([]) });

/**
 * Turns a server's answer to a call into parts for the model. Pure; accepts any JSON and never throws. Pictures and audio stay
 * as they are; of other binary content, only address, type and size remain. Uses structured content only if the answer has no
 * text, because servers usually also send it as text. Texts are well-formed and not empty, have no NUL and no base64 pictures,
 * and keep to the limits; a cut text states the full length.
 */
export function toolOutput(answer: unknown, limits = CONTENT_LIMITS): ToolOutput {
  const read = answerForm.safeParse(answer);
  if (!read.success) return toolError('The tool answered in a form that is not that of the protocol.');
  const { content, isError = false, structuredContent } = read.data;
  const parts = content.slice(0, limits.itemsMax).map(partOf);
  const more = content.length - parts.length;
  if (more > 0) parts.push(textPart(`[… ${more} more pieces of content left out …]`));
  if (structuredContent !== undefined && !parts.some(({ type }) => type === 'text')) {
    parts.push(textPart(json(structuredContent)));
  }
  const safeParts = cut(parts, limits.textCharsMax).map(withoutPictures);
  return { parts: safeParts.filter((part) => part.type !== 'text' || part.text !== ''), isError };
}

/** All texts of an output joined, for an error text. */
export function wordsOf({ parts }: ToolOutput): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** A text without lone surrogates and NUL, which no API accepts. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

function textPart(text: string): ToolPart {
  return { type: 'text', text: cleanText(text) };
}

function partOf(piece: unknown): ToolPart {
  const read = ContentBlockSchema.safeParse(piece);
  if (!read.success) return textPart('[content that cannot be shown]');
  const block = read.data;
  if (block.type === 'text') return textPart(block.text);
  if (block.type === 'resource_link') return textPart(`[resource ${label(block.name)}: ${label(block.uri)}]`);
  if (block.type !== 'resource') return mediaOf(block);
  const { resource } = block;
  if ('text' in resource) return textPart(`[resource ${label(resource.uri)}]\n${resource.text}`);
  const { length } = Buffer.from(resource.blob, 'base64');
  const type = label(resource.mimeType ?? 'of an unknown type');
  return textPart(`[resource ${label(resource.uri)}, ${type}, ${length} bytes]`);
}

function mediaOf({ type, data, mimeType }: { type: 'image' | 'audio'; data: string; mimeType: string }): ToolPart {
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length === 0) return textPart(`[${type} without content]`);
  return type === 'image' ? { type, bytes } : { type, bytes, mimeType: label(mimeType) };
}

/** A server's name for something, on one line of at most 300 characters. */
function label(text: string): string {
  return clip(cleanText(text).replaceAll(BLANKS, ' '), LABEL_CHARS_MAX).trim();
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    // `JSON.stringify` throws on a value that nests too deeply, or is too large for one string.
    return '[structured content that cannot be shown]';
  }
}

/** All media, and the texts up to `charsMax` UTF-16 units together. */
function cut(parts: readonly ToolPart[], charsMax: number): readonly ToolPart[] {
  const chars = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  if (chars <= charsMax) return parts;
  let charsLeft = charsMax;
  return parts.flatMap((part): ToolPart[] => {
    if (part.type !== 'text') return [part];
    if (charsLeft === 0) return [];
    const text = graphemePrefix(part.text, charsLeft);
    charsLeft = text.length < part.text.length ? 0 : charsLeft - text.length;
    const marker = charsLeft === 0 ? `\n[… cut: the whole text had ${chars} characters …]` : '';
    return [{ type: 'text', text: `${text}${marker}` }];
  });
}

/** Replaces base64 pictures in a text: they cost many tokens and show the model nothing. */
function withoutPictures(part: ToolPart): ToolPart {
  if (part.type !== 'text') return part;
  const { text } = part;
  let result = '';
  let end = 0;
  // A second expression finds the end: one expression for a picture of millions of characters would exhaust its stack.
  for (const { index } of text.matchAll(PICTURE_START)) {
    if (index < end) continue;
    result += text.slice(end, index);
    NOT_BASE64.lastIndex = index;
    end = NOT_BASE64.exec(text)?.index ?? text.length;
    result += `[a picture in base64, ${end - index} characters]`;
  }
  return { type: 'text', text: result + text.slice(end) };
}
