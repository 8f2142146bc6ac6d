import type { MessageEntity } from '@grammyjs/types';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { FilePart, Part } from '../../shared/flow/reply.ts';
import type { Reply } from '../../shared/state/turn/aspects.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type Formatted, finished, newCanvas } from './format/canvas.ts';
import { withEntities } from './format/entities.ts';
import { healed } from './format/heal.ts';
import { type LayoutOptions, layOut, MESSAGE_CHARS_MAX, stepDown, textOf } from './format/layout.ts';
import { piecesOf } from './format/pieces.ts';
import { type RichBlock, richBlocks } from './format/rich.ts';

/** The content of a message. */
export type Content = {
  /** Rows of buttons under it. */
  buttons?: readonly (readonly Button[])[] | undefined;
} & (
  | { kind: 'text'; text: string; entities: MessageEntity[] }
  | { kind: 'rich'; blocks: RichBlock[] }
  | FileContent
  /** Pictures that are shown side by side: 2 to 10 parts of the reply. */
  | { kind: 'album'; files: readonly FileContent[] }
);

/** Either holds the text of the file, or names its bytes. */
export interface FileContent {
  kind: 'file';
  name: string;
  caption: string;
  text?: string;
  sha256?: string;
}

/** Which part is sent, how many with those behind it that stand in the same album, and how it arrives. */
export interface PartSlot {
  index: number;
  count: number;
  isSilent: boolean;
  isFurther: boolean;
  stopSignal?: AbortSignal;
}

/** The messages of a reply: plain notices, a model's answer laid out for Telegram, and the files that come with it. */
export function planned(
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

/** Telegram's limit. */
const ALBUM_MAX = 10;
/** Where an answer takes more than about three messages, people want to keep or search it as one piece. */
const LONG_ANSWER_CHARS = 12_000;

/** A long answer once more as a file, as the model wrote it; undefined for a shorter one. */
function answerFile(markdown: string): FilePart | undefined {
  if (markdown.length <= LONG_ANSWER_CHARS) return undefined;
  return { path: 'file', name: 'answer.md', text: markdown.toWellFormed() };
}

/** The message that is sent for a part of a conclusion. One that an earlier version stored is plain text. */
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

/** How many parts stand in one album from a part on: pictures of which the same is known. 1 where it is none. Pure. */
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

/**
 * The part whose arrival a phone tells of: the beginning of the answer, and not a notice before it. All others arrive
 * in silence.
 */
export function ringingPart({ layout = [] }: Conclusion): number {
  return Math.max(
    0,
    layout.findIndex((part) => part !== null && part.path !== 'file'),
  );
}

/** Whether there is a simpler way to show a part. */
export function isFormatted({ layout }: Conclusion, index: number): boolean {
  const part = layout?.[index] ?? undefined;
  return part !== undefined && part.path !== 'plain';
}

/**
 * Replaces a part whose format Telegram refuses by simpler ones, in the stored conclusion too: the next attempt must
 * find the same parts. No later part was sent yet, so their marks are free.
 */
export async function simplify(
  turn: Turn,
  conclusion: Conclusion,
  { index, count }: Pick<PartSlot, 'index' | 'count'>,
): Promise<Conclusion> {
  const { parts, layout = [] } = conclusion;
  if (count > 1) return replace(turn, { ...conclusion, layout: apart(layout, index, count) });
  const refused = layout[index] as Part | FilePart;
  if (refused.path === 'file') return withoutFile(turn, conclusion, index, refused);
  const instead = stepDown(refused);
  const simpler = {
    ...conclusion,
    parts: parts.toSpliced(index, 1, ...instead.map(textOf)),
    layout: layout.toSpliced(index, 1, ...instead),
  };
  return replace(turn, simpler);
}

/** Pictures of an album that are sent one by one. */
function apart(
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

/** A file that Telegram does not take is told of in its place. */
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

/** All that a conclusion says as one message. It is cut where that is too long, and ends with `shortened` where anything is missing. */
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
  if (isWhole) return finished(canvas);
  const end = `\n\n${shortened}`;
  const cut = finished({ ...canvas, text: atWord(canvas.text, MESSAGE_CHARS_MAX - end.length) });
  return { ...cut, text: `${cut.text}${end}`.trim() };
}

/** At most so much of a text, up to the end of a word where one ends not long before. */
function atWord(text: string, charsMax: number): string {
  const head = graphemePrefix(text, charsMax);
  const end = head.length === text.length ? head.length : head.search(/\s\S{0,100}$/);
  return end < 0 ? head : head.slice(0, end);
}

/** Of a longer text only the end is laid out: all of it each second would cost too much. */
const PREVIEW_CHARS_MAX = 20_000;

/** The newest part of an answer that is still being written. */
export function preview(soFar: string): Extract<Content, { kind: 'text' }> {
  const end = piecesOf(soFar, PREVIEW_CHARS_MAX).at(-1) ?? '';
  const last = layOut(healed(end), { rich: 'off' }).at(-1);
  return { kind: 'text', ...withEntities(last?.blocks ?? []) };
}
