import type { Message, RichBlock, RichMessage } from '@grammyjs/types';
import { isFields } from '../../shared/base/fields.ts';
import type { InboundFile, Sound } from '../../shared/flow/message.ts';
import type { Unchecked } from '../../shared/telegram/method.ts';
import { fileOf, inWords, mediaInWords, soundOf } from './raw-message.ts';

type Fields = Record<string, unknown>;

/** The words of a rich message, and its files and sound. */
export interface RichContent {
  /** Empty when there is nothing to read. */
  text: string;
  files: InboundFile[];
  /** The first recording; any other is only named. */
  sound: Sound | undefined;
}

/** Deeper than Telegram allows. */
const DEPTH_MAX = 40;
/** As many as an album has. */
const FILES_MAX = 10;
/** The medium that a block holds, by the block's type, under the name that it has in a message of its own. */
const MEDIA: Readonly<Partial<Record<string, keyof Message>>> = {
  photo: 'photo',
  video: 'video',
  animation: 'animation',
  document: 'document',
  audio: 'audio',
  voice_note: 'voice',
};

/**
 * Reads an inbound rich message: Premium users write them, and pasted web pages become one. Blocks are lines, items have
 * bullets, rows of tables have bars, code has fences. Pictures, files and recordings are named where they stand. Of what
 * we do not know its texts are read. Pure, total.
 */
export function readRich(message: unknown): RichContent {
  const read: RichContent = { text: '', files: [], sound: undefined };
  const { blocks }: Unchecked<RichMessage> = isFields(message) ? message : {};
  if (Array.isArray(blocks)) read.text = lines(blocks, 0, read).join('\n').trim();
  return read;
}

function lines(blocks: readonly unknown[], depth: number, read: RichContent): string[] {
  return depth > DEPTH_MAX ? [] : blocks.flatMap((block) => (isFields(block) ? linesOf(block, depth, read) : []));
}

function linesOf(block: Unchecked<RichBlock>, depth: number, read: RichContent): string[] {
  const { type, text, language, items, cells, summary, blocks, caption, expression } = block;
  switch (type) {
    case 'pre':
      return [`\`\`\`${plain(language)}`, plain(text), '```'];
    case 'list':
      return list(items, depth, read);
    case 'table':
      return rows(cells);
    case 'divider':
      return ['---'];
    case 'mathematical_expression':
      return [`$$${plain(expression)}$$`];
    default:
      return [
        ...[mediumIn(block, read), summary, text].map((each) => plain(each)).filter((line) => line !== ''),
        ...(Array.isArray(blocks) ? lines(blocks, depth + 1, read) : []),
        ...(isFields(caption) ? [plain(caption.text)].filter((line) => line !== '') : []),
      ];
  }
}

/** The medium of a block in words, which is kept where there is room for it; empty for other blocks. */
function mediumIn({ type, location, ...block }: Unchecked<RichBlock>, read: RichContent): string {
  if (type === 'map' && isFields(location)) return inWords({ location }) ?? '';
  const kind = typeof type === 'string' ? MEDIA[type] : undefined;
  if (kind === undefined) return '';
  const medium = { [kind]: (block as Fields)[String(type)] };
  const words = mediaInWords(medium) ?? '';
  const file = fileOf(medium);
  const heard = soundOf(medium);
  if (heard !== undefined && read.sound === undefined) {
    read.sound = { ...heard.sound, kind: heard.what };
    return words;
  }
  if (file === undefined || read.files.length >= FILES_MAX) return words && `${words.slice(0, -1)}; left out)`;
  read.files.push(file);
  return words;
}

function list(items: unknown, depth: number, read: RichContent): string[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) => {
    if (!isFields(item) || !Array.isArray(item.blocks)) return [];
    const task = item.has_checkbox === true ? `[${item.is_checked === true ? 'x' : ' '}] ` : '';
    const marker = typeof item.label === 'string' && item.label !== '' ? item.label : '-';
    const [first = '', ...others] = lines(item.blocks, depth + 1, read);
    return [`${marker} ${task}${first}`, ...others.map((line) => `  ${line}`)];
  });
}

function rows(cells: unknown): string[] {
  if (!Array.isArray(cells)) return [];
  const row = (each: unknown) =>
    Array.isArray(each) ? each.map((cell) => (isFields(cell) ? plain(cell.text) : '')) : [];
  return cells.map((each) => `| ${row(each).join(' | ')} |`);
}

/** A rich text is a string, a list of them, or a mark around one. */
function plain(text: unknown, depth = 0): string {
  if (typeof text === 'string') return text;
  if (depth > DEPTH_MAX) return '';
  if (Array.isArray(text)) return text.map((each) => plain(each, depth + 1)).join('');
  if (!isFields(text)) return '';
  return plain(text.text ?? text.alternative_text ?? text.expression, depth + 1);
}

/** Whether anything in a rich message is a mention that fits: the server's marks alone are mentions. Pure, total. */
export function mentionsInRich(message: unknown, fits: (mention: Fields) => boolean): boolean {
  return isFields(message) && hasMention(message.blocks, fits, 0);
}

function hasMention(part: unknown, fits: (mention: Fields) => boolean, depth: number): boolean {
  // Blocks and texts are nested in each other.
  if (depth > 2 * DEPTH_MAX || typeof part !== 'object' || part === null) return false;
  const isMention = isFields(part) && (part.type === 'mention' || part.type === 'text_mention');
  return (isMention && fits(part)) || Object.values(part).some((each) => hasMention(each, fits, depth + 1));
}
