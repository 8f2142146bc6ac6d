import type { MessageEntity } from '@grammyjs/types';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { FilePart, Part } from '../../shared/flow/reply.ts';
import type { Reply } from '../../shared/state/turn/aspects.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type Formatted, finishCanvas, newCanvas } from './format/canvas.ts';
import { withEntities } from './format/entities.ts';
import { healMarkdown } from './format/heal.ts';
import { type LayoutOptions, layOut, MESSAGE_CHARS_MAX, stepDown, textOf } from './format/layout.ts';
import { piecesOf } from './format/pieces.ts';
import { type RichBlock, richBlocks } from './format/rich.ts';

/** The content of a message. */
export type Content = {
  /** The rows of buttons under the message. */
  buttons?: readonly (readonly Button[])[] | undefined;
} & (
  | { kind: 'text'; text: string; entities: MessageEntity[] }
  | { kind: 'rich'; blocks: RichBlock[] }
  | FileContent
  /** Pictures side by side: 2 to 10 parts of the reply. */
  | { kind: 'album'; files: readonly FileContent[] }
);

/** A file: its text, or the SHA-256 of its stored bytes. */
export interface FileContent {
  kind: 'file';
  name: string;
  caption: string;
  text?: string;
  sha256?: string;
}

/** The part to send: its index, how many parts are sent with one call (several for an album), and the options of the send. */
export interface PartSlot {
  index: number;
  count: number;
  isSilent: boolean;
  isFurther: boolean;
  stopSignal?: AbortSignal;
}

/** The parts of a reply: plain notices, the model's answer laid out for Telegram, a copy of a long answer, attached files. */
export function planReply(
  notices: readonly string[],
  answer: string,
  options: LayoutOptions,
  attached: readonly FilePart[] = [],
): Pick<Conclusion, 'parts' | 'layout'> {
  const laid = layOut(answer, options);
  const file = answerFile(answer);
  const files = [...(file === undefined ? [] : [file]), ...attached];
  return {
    parts: [...notices, ...laid.map(textOf), ...files.map(({ name }) => name)],
    layout: [...notices.map(() => null), ...laid, ...files],
  };
}

/** Bot API, `sendMediaGroup`: 2 to 10 items. */
const ALBUM_MAX = 10;
/** A longer answer also comes as a file: it takes more than about three messages, and people may want to save or search it. */
const LONG_ANSWER_CHARS = 12_000;

/** A file with a long answer as the model wrote it; undefined for a shorter answer. */
function answerFile(markdown: string): FilePart | undefined {
  if (markdown.length <= LONG_ANSWER_CHARS) return undefined;
  return { path: 'file', name: 'answer.md', text: markdown.toWellFormed() };
}

/** The message for the part at `index`, or for the album of `count` parts there. A part without a layout is plain text. */
export function contentAt(conclusion: Conclusion, index: number, count = 1): Content {
  const { parts, layout = [], buttons } = conclusion;
  if (count > 1) {
    const files = layout.slice(index, index + count);
    return { kind: 'album', files: files.map((file, at) => fileContent(file as FilePart, parts[index + at] ?? '')) };
  }
  const part = layout[index] ?? undefined;
  const text = parts[index] ?? '';
  if (part?.path === 'file') return fileContent(part, text);
  const below = buttons !== undefined && index === lastMessage(conclusion) ? { buttons } : {};
  if (part === undefined || part.path === 'plain') return { kind: 'text', text, entities: [], ...below };
  if (part.path === 'rich') return { kind: 'rich', blocks: richBlocks(part.blocks), ...below };
  return { kind: 'text', ...withEntities(part.blocks), ...below };
}

function fileContent(part: FilePart, text: string): FileContent {
  return { kind: 'file', ...part, caption: text === part.name ? '' : text };
}

/** How many parts from `index` on go into one message: 1, or several pictures in a row with the same mark (an album). Pure. */
export function albumFrom({ layout = [] }: Conclusion, index: number, reply: Pick<Reply, 'markOf'>): number {
  const rest = layout.slice(index, index + ALBUM_MAX);
  const end = rest.findIndex((each, at) => !isPicture(each) || reply.markOf(index + at) !== reply.markOf(index));
  return Math.max(1, end === -1 ? rest.length : end);
}

function isPicture(part: Part | FilePart | null): boolean {
  return part?.path === 'file' && part.isPicture === true;
}

function lastMessage({ parts, layout = [] }: Conclusion): number {
  return parts.findLastIndex((_, index) => layout[index]?.path !== 'file');
}

/** The index of the only part that makes a sound: the beginning of the answer, after any notices. 0 without an answer. */
export function ringingPart({ layout = [] }: Conclusion): number {
  return Math.max(
    0,
    layout.findIndex((part) => part !== null && part.path !== 'file'),
  );
}

/** Whether `simplify` can replace a part: any part except a plain text. */
export function isFormatted({ layout }: Conclusion, index: number): boolean {
  const part = layout?.[index] ?? undefined;
  return part !== undefined && part.path !== 'plain';
}

/**
 * Replaces a part that Telegram refuses: single files replace an album, a notice replaces a file, and parts in a simpler format
 * replace any other part. Stores the new conclusion, so that the next attempt finds the same parts. This may change the indices
 * of later parts, none of which has a mark yet.
 */
export async function simplify(
  turn: Turn,
  conclusion: Conclusion,
  { index, count }: Pick<PartSlot, 'index' | 'count'>,
): Promise<Conclusion> {
  const { parts, layout = [] } = conclusion;
  if (count > 1) return replace(turn, { ...conclusion, layout: splitAlbum(layout, index, count) });
  const part = layout[index] as Part | FilePart;
  if (part.path === 'file') return withoutFile(turn, conclusion, index, part);
  const simplerParts = stepDown(part);
  const simpler = {
    ...conclusion,
    parts: parts.toSpliced(index, 1, ...simplerParts.map(textOf)),
    layout: layout.toSpliced(index, 1, ...simplerParts),
  };
  return replace(turn, simpler);
}

/** Turns the pictures of an album into single files. */
function splitAlbum(
  layout: NonNullable<Conclusion['layout']>,
  from: number,
  count: number,
): NonNullable<Conclusion['layout']> {
  return layout.map((part, at) => {
    if (part?.path !== 'file' || at < from || at >= from + count) return part;
    const { isPicture: _, ...alone } = part;
    return alone;
  });
}

/** Puts a notice in the place of a file that Telegram refuses. */
async function withoutFile(
  turn: Turn,
  { layout = [], ...conclusion }: Conclusion,
  index: number,
  { name }: FilePart,
): Promise<Conclusion> {
  const parts = conclusion.parts.with(index, turn.texts.fileNotSent(name));
  return replace(turn, { ...conclusion, parts, layout: layout.with(index, null) });
}

async function replace(turn: Turn, conclusion: Conclusion): Promise<Conclusion> {
  await turn.write('', [turn.reviseConclusion(conclusion)]);
  return conclusion;
}

/** All texts of a conclusion as one message, which ends with `shortened` if the text was cut or a file was omitted. */
export function inOne(conclusion: Conclusion, shortened: string): Formatted {
  const contents = conclusion.parts.map((_, index) => contentAt(conclusion, index));
  const canvas = newCanvas();
  for (const [index, content] of contents.entries()) {
    if (content.kind === 'file') continue;
    if (canvas.text !== '') canvas.text += '\n\n';
    const { text, entities } =
      content.kind === 'text' ? content : { text: conclusion.parts[index] ?? '', entities: [] };
    for (const entity of entities) canvas.entities.push({ ...entity, offset: entity.offset + canvas.text.length });
    canvas.text += text;
  }
  const isWhole = canvas.text.length <= MESSAGE_CHARS_MAX && contents.every(({ kind }) => kind !== 'file');
  if (isWhole) return finishCanvas(canvas);
  const end = `\n\n${shortened}`;
  const cut = finishCanvas({ ...canvas, text: cutAtWord(canvas.text, MESSAGE_CHARS_MAX - end.length) });
  return { ...cut, text: `${cut.text}${end}`.trim() };
}

/** Cuts a longer text to `charsMax`, and then back to the last white space, if that is among the last 100 characters. */
function cutAtWord(text: string, charsMax: number): string {
  const head = graphemePrefix(text, charsMax);
  const end = head.length === text.length ? head.length : head.search(/\s\S{0,100}$/);
  return end < 0 ? head : head.slice(0, end);
}

/** A preview lays out only the end of a longer text, since laying out the whole text every second would cost too much. */
const PREVIEW_CHARS_MAX = 20_000;

/** The last message of an answer that is still being written, laid out as a text with entities; may be empty. */
export function preview(soFar: string): Extract<Content, { kind: 'text' }> {
  const end = piecesOf(soFar, PREVIEW_CHARS_MAX).at(-1) ?? '';
  const last = layOut(healMarkdown(end), { rich: 'off' }).at(-1);
  return { kind: 'text', ...withEntities(last?.blocks ?? []) };
}
