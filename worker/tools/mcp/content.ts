import { z } from 'zod';
import { clip, graphemePrefix } from '../../../shared/base/text.ts';
import type { ToolOutput, ToolPart } from '../toolbox.ts';

/** How much of an answer is kept. */
export interface ContentLimits {
  /** Of all texts together, in UTF-16 units. */
  textCharsMax: number;
  /** Of all images and audio together. */
  mediaBytesMax: number;
  itemsMax: number;
}

export const CONTENT_LIMITS: ContentLimits = {
  textCharsMax: 4 * 1024 * 1024,
  mediaBytesMax: 20 * 1024 * 1024,
  itemsMax: 1_000,
};

/** Bounded: a run of millions can exhaust the stack of a regular expression. */
const WHITE_SPACE = /\s{1,1000}/g;
const BLANKS = /[\s\p{Cc}]{1,1000}/gu;
const LABEL_CHARS_MAX = 300;

const optionalText = z.string().optional().catch(undefined);
const answerForm = z.looseObject({
  content: z.array(z.unknown()).catch([]),
  isError: z.literal(true).optional().catch(undefined),
  structuredContent: z.unknown().optional(),
});
const mediaForm = z.object({ type: z.enum(['image', 'audio']), data: z.string(), mimeType: optionalText });
const itemForm = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  mediaForm,
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: optionalText }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: optionalText, text: z.string() }) }),
  z.object({
    type: z.literal('resource'),
    resource: z.object({ uri: optionalText, blob: z.string(), mimeType: optionalText }),
  }),
]);
type Item = z.infer<typeof itemForm>;
type Media = z.infer<typeof mediaForm>;

/**
 * A server's answer to a call, as parts for the model. Pure; takes any JSON and never throws. Pictures and audio stay
 * that; anything else that is not text is named with its type and size. Structured content is taken only where there is no
 * text: a server sends it as text too. Texts are well-formed, without NUL and base64 pictures, never empty, and bounded
 * in all; a cut states the full length.
 */
export function toolOutput(answer: unknown, limits: ContentLimits = CONTENT_LIMITS): ToolOutput {
  const read = answerForm.safeParse(answer);
  if (!read.success) return { parts: [], isError: false };
  const { content, isError, structuredContent } = read.data;
  const parts = partsOf(content, limits).map(clean).filter(isSomething);
  if (structuredContent !== undefined && !content.some(isText)) {
    parts.push(clean({ type: 'text', text: json(structuredContent) }));
  }
  return { parts: bounded(parts, limits.textCharsMax), isError: isError === true };
}

/** All texts of an output joined, for an error text. */
export function wordsOf({ parts }: ToolOutput): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** A text without lone surrogates and NUL, which no API takes. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

function partsOf(content: readonly unknown[], limits: ContentLimits): ToolPart[] {
  let mediaBytesLeft = limits.mediaBytesMax;
  const parts = content.slice(0, limits.itemsMax).map((item): ToolPart => {
    const read = itemForm.safeParse(item);
    if (!read.success) return { type: 'text', text: `[content that cannot be shown: ${kindOf(item)}]` };
    const part = partOf(read.data, mediaBytesLeft);
    if (part.type !== 'text') mediaBytesLeft -= part.bytes.length;
    return part;
  });
  const more = content.length - parts.length;
  if (more > 0) parts.push({ type: 'text', text: `[… ${more} more pieces of content left out …]` });
  return parts;
}

function partOf(item: Item, mediaBytesLeft: number): ToolPart {
  if ('data' in item) return mediaOf(item, mediaBytesLeft);
  return { type: 'text', text: textOf(item) };
}

function textOf(item: Exclude<Item, Media>): string {
  if (item.type === 'text') return item.text;
  if (item.type === 'resource_link') return `[resource ${label(item.name, 'without a name')}: ${label(item.uri, '')}]`;
  const { resource } = item;
  const uri = label(resource.uri, 'without an address');
  if ('text' in resource) return `[resource ${uri}]\n${resource.text}`;
  return placeholder(`resource ${uri}`, resource.mimeType, resource.blob);
}

function mediaOf(item: Media, bytesMax: number): ToolPart {
  const data = item.data.replaceAll(WHITE_SPACE, '');
  // What is certainly too large is not decoded at all.
  const bytes = byteCount(data) <= bytesMax ? decode(data) : undefined;
  if (bytes !== undefined && bytes.length <= bytesMax) {
    const mimeType = label(item.mimeType, 'of an unknown type');
    return item.type === 'image' ? { type: 'image', bytes } : { type: 'audio', bytes, mimeType };
  }
  const why = byteCount(data) > bytesMax ? 'too large' : 'not legible';
  return { type: 'text', text: placeholder(`${item.type} ${why}`, item.mimeType, data) };
}

function placeholder(what: string, mimeType: string | undefined, base64: string): string {
  return `[${what}, ${label(mimeType, 'of an unknown type')}, ${byteCount(base64)} bytes]`;
}

/** Buffer's own decoder skips what it cannot read, so re-encoding is the test. */
function decode(base64: string): Buffer | undefined {
  const bytes = Buffer.from(base64, 'base64');
  const isWhole = bytes.length > 0 && bytes.toString('base64').replace(/=+$/, '') === base64.replace(/={0,2}$/, '');
  return isWhole ? bytes : undefined;
}

function byteCount(base64: string): number {
  const padding = /={0,2}$/.exec(base64.slice(-2))?.[0].length ?? 0;
  return Math.floor(((base64.length - padding) * 3) / 4);
}

/** The server's own word for something, on one short line. */
function label(text: string | undefined, otherwise: string): string {
  const line = clip(cleanText(text ?? '').replaceAll(BLANKS, ' '), LABEL_CHARS_MAX).trim();
  return line === '' ? otherwise : line;
}

function kindOf(item: unknown): string {
  const type = typeof item === 'object' && item !== null && 'type' in item ? item.type : undefined;
  return label(typeof type === 'string' ? type : undefined, 'of an unknown kind');
}

function isText(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'type' in item && item.type === 'text';
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // JSON cannot be written when it nests too deeply, or is too large for one string.
    return '[structured content that cannot be shown]';
  }
}

function clean(part: ToolPart): ToolPart {
  return part.type === 'text' ? { type: 'text', text: withoutPictures(cleanText(part.text)) } : part;
}

function isSomething(part: ToolPart): boolean {
  return part.type !== 'text' || part.text !== '';
}

function bounded(parts: readonly ToolPart[], charsMax: number): ToolPart[] {
  const chars = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  if (chars <= charsMax) return [...parts];
  let left = charsMax;
  const kept: ToolPart[] = [];
  for (const part of parts) {
    if (part.type !== 'text') kept.push(part);
    else if (left > 0) {
      const text = graphemePrefix(part.text, left);
      left = text.length < part.text.length ? 0 : left - text.length;
      const marker = left === 0 ? `\n[… cut: the whole text had ${chars} characters …]` : '';
      kept.push({ type: 'text', text: `${text}${marker}` });
    }
  }
  return kept;
}

/** Beginnings of PNG, JPEG, GIF and WebP in base64, with enough after them to rule out a word. */
const PICTURE = /(?:iVBORw0KGgo|\\?\/9j\\?\/|R0lGOD|UklGR)[A-Za-z0-9+/\\]{200}/g;
/**
 * Bounded: a run of millions can exhaust the stack of a regular expression. The backslash is that of an escaped slash.
 */
const BASE64 = /[A-Za-z0-9+/=\\]{1,1000}/y;

/** A text with each base64 picture replaced by words: as text it costs much and shows nothing. Pure, linear. */
export function withoutPictures(text: string): string {
  let shown = '';
  let from = 0;
  for (PICTURE.lastIndex = 0; ; ) {
    const found = PICTURE.exec(text);
    if (found === null) return shown + text.slice(from);
    const end = endOfBase64(text, PICTURE.lastIndex);
    shown += `${text.slice(from, found.index)}[a picture in base64, ${end - found.index} characters]`;
    from = end;
    PICTURE.lastIndex = end;
  }
}

function endOfBase64(text: string, from: number): number {
  let end = from;
  for (BASE64.lastIndex = end; BASE64.test(text); ) end = BASE64.lastIndex;
  return end;
}
