import type { Message, RichBlock, RichMessage } from '@grammyjs/types';
import { isFields } from '../../shared/base/fields.ts';
import type { InboundFile, Sound } from '../../shared/flow/message.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import { fileOf, inWords, mediaInWords, soundOf } from './raw-message.ts';

type Fields = Record<string, unknown>;

/** The text of a rich message, and its files and sound. */
export interface RichContent {
  /** Empty when there is nothing to read. */
  text: string;
  files: InboundFile[];
  /** The first recording; `undefined` if there is none. Further recordings appear only in the text. */
  sound: Sound | undefined;
}

/** The deepest nesting that is read. Telegram allows less. */
const DEPTH_MAX = 40;
/** The maximum number of files to read from a message. An album cannot have more, either. */
const FILES_MAX = 10;
/** The field of a plain message that would hold a block's medium, by the block's type. */
const MEDIA: Readonly<Partial<Record<string, keyof Message>>> = {
  photo: 'photo',
  video: 'video',
  animation: 'animation',
  document: 'document',
  audio: 'audio',
  voice_note: 'voice',
};

/**
 * Reads a rich message: a message that a Premium user formatted, or a pasted web page. Blocks become lines, with bullets for
 * list items, bars for table rows and fences for code. A description in words stands for each medium. Of a block of an unknown
 * type, reads only the texts. Any other value gives an empty result. Pure, never throws.
 */
export function readRich(message: unknown): RichContent {
  const content: RichContent = { text: '', files: [], sound: undefined };
  const { blocks }: Unchecked<RichMessage> = isFields(message) ? message : {};
  if (Array.isArray(blocks)) content.text = lines(blocks, 0, content).join('\n').trim();
  return content;
}

function lines(blocks: readonly unknown[], depth: number, content: RichContent): string[] {
  return depth > DEPTH_MAX ? [] : blocks.flatMap((block) => (isFields(block) ? linesOf(block, depth, content) : []));
}

function linesOf(block: Unchecked<RichBlock>, depth: number, content: RichContent): string[] {
  const { type, text, language, items, cells, summary, blocks, caption, expression } = block;
  switch (type) {
    case 'pre':
      return [`\`\`\`${plain(language)}`, plain(text), '```'];
    case 'list':
      return list(items, depth, content);
    case 'table':
      return rows(cells);
    case 'divider':
      return ['---'];
    case 'mathematical_expression':
      return [`$$${plain(expression)}$$`];
    default:
      return [
        ...[mediumIn(block, content), summary, text].map((each) => plain(each)).filter((line) => line !== ''),
        ...(Array.isArray(blocks) ? lines(blocks, depth + 1, content) : []),
        ...(isFields(caption) ? [plain(caption.text)].filter((line) => line !== '') : []),
      ];
  }
}

/**
 * Describes the medium of a block in words; an empty text if there is none. Adds the medium's file or recording to `content`;
 * if that is not possible, the words end with `left out`. A map is only described.
 */
function mediumIn({ type, location, ...block }: Unchecked<RichBlock>, content: RichContent): string {
  if (type === 'map' && isFields(location)) return inWords({ location }) ?? '';
  const kind = typeof type === 'string' ? MEDIA[type] : undefined;
  if (kind === undefined) return '';
  const medium = { [kind]: (block as Fields)[String(type)] };
  const words = mediaInWords(medium) ?? '';
  const file = fileOf(medium);
  const recording = soundOf(medium);
  if (recording !== undefined && content.sound === undefined) {
    content.sound = { ...recording.sound, kind: recording.what };
    return words;
  }
  if (file === undefined || content.files.length >= FILES_MAX) return words && `${words.slice(0, -1)}; left out)`;
  content.files.push(file);
  return words;
}

function list(items: unknown, depth: number, content: RichContent): string[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) => {
    if (!isFields(item) || !Array.isArray(item.blocks)) return [];
    const task = item.has_checkbox === true ? `[${item.is_checked === true ? 'x' : ' '}] ` : '';
    const marker = typeof item.label === 'string' && item.label !== '' ? item.label : '-';
    const [first = '', ...others] = lines(item.blocks, depth + 1, content);
    return [`${marker} ${task}${first}`, ...others.map((line) => `  ${line}`)];
  });
}

function rows(cells: unknown): string[] {
  if (!Array.isArray(cells)) return [];
  const row = (each: unknown) =>
    Array.isArray(each) ? each.map((cell) => (isFields(cell) ? plain(cell.text) : '')) : [];
  return cells.map((each) => `| ${row(each).join(' | ')} |`);
}

/** The plain text of a rich text, which is a string, a list of rich texts, or an object around one; empty for other values. */
function plain(text: unknown, depth = 0): string {
  if (typeof text === 'string') return text;
  if (depth > DEPTH_MAX) return '';
  if (Array.isArray(text)) return text.map((each) => plain(each, depth + 1)).join('');
  if (!isFields(text)) return '';
  return plain(text.text ?? text.alternative_text ?? text.expression, depth + 1);
}

/**
 * Whether a rich message has a mention for which `fits` returns true. Only mentions that Telegram marks as such count, not
 * names in plain text. Pure, never throws.
 */
export function mentionsInRich(message: unknown, fits: (mention: Fields) => boolean): boolean {
  return isFields(message) && hasMention(message.blocks, fits, 0);
}

function hasMention(part: unknown, fits: (mention: Fields) => boolean, depth: number): boolean {
  // Twice the limit for blocks, because the innermost block may contain nested texts.
  if (depth > 2 * DEPTH_MAX || typeof part !== 'object' || part === null) return false;
  const isMention = isFields(part) && (part.type === 'mention' || part.type === 'text_mention');
  return (isMention && fits(part)) || Object.values(part).some((each) => hasMention(each, fits, depth + 1));
}
