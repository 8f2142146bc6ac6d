/** A rich message: the blocks that a gateway sends, and what a person reads. */
import { z } from 'zod';
import { wrongLink } from './markup.ts';
import { json } from './params.ts';

/** A formatted piece. Its fields differ by its type. */
export interface RichNode {
  type: string;
  text?: RichText;
  [more: string]: unknown;
}

/** A text, a list of rich texts, or a formatted piece. */
export type RichText = string | RichNode | RichText[];

/** A block. Its fields differ by its type. */
export interface RichBlock {
  type: string;
  expression?: string;
  text?: RichText;
  summary?: RichText;
  blocks?: RichBlock[];
  items?: {
    blocks: RichBlock[];
    label: string;
    has_checkbox?: boolean | undefined;
    is_checked?: boolean | undefined;
  }[];
  cells?: { text?: RichText | undefined }[][];
  [more: string]: unknown;
}

const COLUMNS_MAX = 20;
type Sums = Record<'chars' | 'blocks' | 'depth' | 'runs', number>;
/** What is counted, how much of it is taken, and what is said of more. */
const LIMITS: readonly [keyof Sums, number, string][] = [
  ['chars', 32_768, 'RICH_MESSAGE_TEXT_TOO_LONG'],
  ['blocks', 500, 'RICH_MESSAGE_BLOCKS_TOO_MANY'],
  ['depth', 16, 'RICH_MESSAGE_DEPTH_INVALID'],
  ['runs', 5_849, 'RICH_MESSAGE_TOO_LARGE'],
];

const flag = z.boolean().optional();

const REQUIRED = 'RICH_MESSAGE_CONTENT_REQUIRED';
const isLink = (url: string): boolean => wrongLink(url) === undefined;

const text: z.ZodType<RichText> = z.lazy(() => z.union([z.string(), z.array(text), node]));
const words = text.refine((own) => plainRichText(own).trim() !== '', REQUIRED);
const expression = z.string().min(1, REQUIRED);
const node: z.ZodType<RichNode> = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.enum(['bold', 'italic', 'strikethrough', 'spoiler', 'code']), text }),
    z.object({ type: z.literal('url'), text, url: z.string().refine(isLink, 'RICH_MESSAGE_URL_INVALID') }),
    z.object({ type: z.literal('mathematical_expression'), expression }),
  ],
  'Unsupported rich text type',
);

const blocks: z.ZodType<RichBlock[]> = z.lazy(() => z.array(block).min(1, REQUIRED));
const cell = z.object({
  text: text.optional(),
  is_header: flag,
  align: z.enum(['left', 'center', 'right']).optional(),
  valign: z.enum(['top', 'middle', 'bottom']).optional(),
});
const row = z.array(cell).min(1, REQUIRED).max(COLUMNS_MAX, 'RICH_MESSAGE_TABLE_COLS_TOO_MANY');
/** An item has a number only where it says of which type. */
const item = z
  .object({
    blocks,
    has_checkbox: flag,
    is_checked: flag,
    value: z.int().optional(),
    type: z.enum(['a', 'A', 'i', 'I', '1'], 'invalid list item type specified').optional(),
  })
  .transform((sent) => ({ ...sent, label: sent.type === undefined ? '•' : `${sent.value ?? 0}.` }));
const isOneKind = (all: readonly { type?: string | undefined }[]) => new Set(all.map(({ type }) => type)).size < 2;
const items = z
  .array(item)
  .min(1, 'list must be non-empty')
  .refine(isOneKind, 'list must be either ordered or unordered');
const WRONG_SIZE = 'invalid section heading size specified';
const block: z.ZodType<RichBlock> = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('paragraph'), text: words }),
    z.object({ type: z.literal('heading'), text: words, size: z.int().min(1, WRONG_SIZE).max(6, WRONG_SIZE) }),
    z.object({ type: z.literal('pre'), text: words, language: z.string().optional() }),
    z.object({ type: z.literal('divider') }),
    z.object({ type: z.literal('mathematical_expression'), expression }),
    z.object({ type: z.literal('list'), items }),
    z.object({ type: z.literal('blockquote'), blocks }),
    z.object({ type: z.literal('table'), cells: z.array(row).min(1, REQUIRED), is_bordered: flag, is_compact: flag }),
    z.object({ type: z.literal('details'), summary: words, blocks, is_open: flag }),
  ],
  'unsupported type',
);

/** The blocks of `rich_message`. Refuses what is too much or too deep. */
export const richBlocks = json(z.object({ blocks: z.array(block) }, 'rich message must be non-empty')).transform(
  (message, context) => {
    const sums = { chars: 0, blocks: 0, depth: 0, runs: 0 };
    for (const each of message.blocks) sumBlock(each, 1, sums);
    const wrong = LIMITS.find(([name, most]) => sums[name] > most)?.[2];
    const why = sums.chars === 0 ? 'RICH_MESSAGE_EMPTY' : wrong;
    if (why !== undefined) context.addIssue(why);
    return message.blocks;
  },
);

/** Blocks, list items and table rows count as blocks; a block, an item and a format are a level each. */
function sumBlock(each: RichBlock, depth: number, sums: Sums): void {
  const { items: listed = [], blocks: inner = [], cells = [] } = each;
  sums.blocks += 1 + listed.length + cells.length;
  sums.depth = Math.max(sums.depth, depth);
  for (const own of textsOf(each)) sumText(own, depth, sums);
  for (const one of inner) sumBlock(one, depth + 1, sums);
  for (const one of listed.flatMap((each) => each.blocks)) sumBlock(one, depth + 2, sums);
}

function sumText(own: RichText, depth: number, sums: Sums): void {
  if (typeof own === 'string') sums.chars += [...own].length;
  else if (Array.isArray(own)) for (const part of own) sumText(part, depth, sums);
  else {
    sums.runs += 1;
    sums.depth = Math.max(sums.depth, depth + 1);
    sumText(ownTextOf(own), depth + 1, sums);
  }
}

/** The texts of a block itself, those of cells included. */
function textsOf({ text: own, summary, expression, cells = [] }: RichBlock): RichText[] {
  const inCells = cells.flat().map((each) => each.text);
  return [own, summary, expression, ...inCells].filter((each) => each !== undefined);
}

/** What a formatted piece says. */
function ownTextOf({ text: own, expression }: RichNode): RichText {
  return own ?? (expression as string | undefined) ?? '';
}

/** What a person reads, line by line. */
export function plainText(all: readonly RichBlock[]): string {
  return all
    .map(plainBlock)
    .filter((line) => line !== '')
    .join('\n');
}

function plainBlock(each: RichBlock): string {
  const { items = [], blocks: inner = [], cells = [] } = each;
  if (each.type === 'divider') return '———';
  const inItems = items.map(({ has_checkbox, is_checked, label, blocks: own }) => {
    const box = is_checked ? '[x]' : '[ ]';
    return `${has_checkbox ? box : label} ${plainText(own)}`;
  });
  const inCells = cells.map((row) => row.map((each) => plainRichText(each.text ?? '')).join(' | '));
  const own = textsOf({ ...each, cells: [] }).map(plainRichText);
  return [...own, ...inItems, ...inCells, plainText(inner)].filter((line) => line !== '').join('\n');
}

/** The words of a rich text. */
export function plainRichText(own: RichText): string {
  if (typeof own === 'string') return own;
  return Array.isArray(own) ? own.map(plainRichText).join('') : plainRichText(ownTextOf(own));
}
