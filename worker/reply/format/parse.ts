import type { Token, Tokens } from 'marked';
import {
  type Align,
  type Block,
  type Cell,
  type Inline,
  type Item,
  isBlank,
  lettersOf,
  paragraph,
  plain,
  type Table,
  trimmed,
} from '../../../shared/flow/reply.ts';
import { type OwnToken, referencedBy, tokensOf } from './grammar.ts';
import { inlinesOf } from './inline.ts';
import { isReadable, piecesOf } from './pieces.ts';

/** How deeply blocks may nest. Deeper blocks appear as they were written. */
const BLOCKS_DEPTH_MAX = 16;
const TAB_COLUMNS = 4;
const LANGUAGE = /^[^\s`]{1,32}$/;
const CELL_BORDER = /(?<!\\)\|/;

interface Note {
  label: string;
  blocks: readonly Block[];
}

interface Reading {
  /** The URLs of links that refer to a definition. A definition of any other URL is text. */
  referenced: ReadonlySet<string>;
  defined: Set<string>;
  notes: Note[];
}

/**
 * Reads the Markdown of a model. Never throws, never takes long, and loses no text except definitions that links use.
 * Text that nests too deeply, has too many marks, or makes the parser fail, becomes paragraphs as it was written.
 */
export function parse(markdown: string): readonly Block[] {
  const text = markdown.toWellFormed().replaceAll(/\r\n?/g, '\n');
  return piecesOf(text).flatMap(parsePiece);
}

function parsePiece(text: string): readonly Block[] {
  if (!isReadable(text)) return rawParagraphs(text);
  try {
    const tokens = tokensOf(text);
    const reading: Reading = { referenced: referencedBy(tokens), defined: new Set(), notes: [] };
    const blocks = blocksOf(tokens, reading, 0);
    return [...blocks, ...notesOf(reading.notes)];
  } catch {
    return rawParagraphs(text);
  }
}

function rawParagraphs(text: string): Block[] {
  return text.split(/\n{2,}/).flatMap((each) => prose([plain(each.trim())]));
}

function blocksOf(tokens: readonly Token[] | undefined, reading: Reading, depth: number): Block[] {
  return (tokens ?? []).flatMap((token) => blockOf(token as Tokens.Generic, reading, depth));
}

function blockOf(token: Tokens.Generic, reading: Reading, depth: number): Block[] {
  if (depth > BLOCKS_DEPTH_MAX) return prose([plain(token.raw)]);
  switch (token.type) {
    case 'space':
    case 'checkbox':
      return [];
    case 'heading':
      return prose(inlinesOf(token.tokens)).map(({ inlines }) => ({
        type: 'heading',
        level: token.depth,
        inlines,
      }));
    case 'code':
      return codeOf(token as Tokens.Code);
    case 'blockquote':
      return withoutEmpty({ type: 'quote', blocks: blocksOf(token.tokens, reading, depth + 1) });
    case 'list':
      return listOf(token as Tokens.List, reading, depth);
    case 'table':
      return [tableOf(token as Tokens.Table)];
    case 'hr':
      return [{ type: 'rule' }];
    case 'def':
      return definitionOf(token as Tokens.Def, reading);
    default:
      return ownOf(token as OwnToken, reading, depth);
  }
}

function ownOf(token: OwnToken | Tokens.Generic, reading: Reading, depth: number): Block[] {
  if (token.type === 'formula') return [{ type: 'formula', text: token.text }];
  if (token.type === 'note') {
    reading.notes.push({ label: token.label, blocks: blocksOf(token.tokens, reading, depth + 1) });
    return [];
  }
  if (token.type === 'details') {
    const summary = trimmed(inlinesOf(token.summary));
    const blocks = blocksOf(token.tokens, reading, depth + 1);
    return withoutEmpty({ type: 'details', summary: lettersOf(summary) === '' ? [plain('…')] : summary, blocks });
  }
  return 'tokens' in token && token.tokens ? proseOf(token.tokens as Token[]) : prose([plain(token.raw)]);
}

/** The blocks of a paragraph. A display formula on lines of its own splits the paragraph in two. */
function proseOf(tokens: readonly Token[]): Block[] {
  const at = tokens.findIndex(
    (token, index) =>
      token.type === 'formula' &&
      (token as Tokens.Generic).isDisplay &&
      /^$|\n$/.test(tokens[index - 1]?.raw.slice(-1) ?? '') &&
      /^$|^\n/.test(tokens[index + 1]?.raw.slice(0, 1) ?? ''),
  );
  const formula = tokens[at] as Tokens.Generic | undefined;
  if (formula === undefined) return prose(inlinesOf(tokens));
  const before = prose(inlinesOf(tokens.slice(0, at)));
  return [...before, { type: 'formula', text: formula.text }, ...proseOf(tokens.slice(at + 1))];
}

/** A paragraph, or nothing if it is blank. */
function prose(inlines: readonly Inline[]) {
  const content = trimmed(inlines);
  return isBlank(lettersOf(content)) ? [] : [paragraph(...content)];
}

function withoutEmpty(block: Block & { readonly blocks: readonly Block[] }): Block[] {
  if (block.blocks.length > 0) return [block];
  return block.type === 'details' && lettersOf(block.summary) !== '…' ? prose(block.summary) : [];
}

function codeOf({ lang, text }: Tokens.Code): Block[] {
  const [name = '', ...about] = (lang ?? '').trim().split(/\s+/);
  if (name === 'math') return isBlank(text) ? [] : [{ type: 'formula', text: text.trim() }];
  // Words after the fence, as in `js title="x"`, describe the code; a sentence there belongs to the code.
  const isInfo = LANGUAGE.test(name) && (about.length === 0 || about.every((word) => /[={}"]/.test(word)));
  const code = withoutTabs(isInfo || name === '' ? text : `${lang}\n${text}`)
    .replace(/^(?: *\n)+/, '')
    .trimEnd();
  if (isBlank(code)) return isInfo && name !== '' ? prose([plain(name)]) : [];
  return [{ type: 'code', text: code, ...(isInfo && name !== '' && { language: name }) }];
}

/** Expands tabs. Telegram would show each tab as one space. */
function withoutTabs(code: string): string {
  if (!code.includes('\t')) return code;
  return code
    .split('\n')
    .map((line) =>
      line.split('\t').reduce((done, next) => done + ' '.repeat(TAB_COLUMNS - (done.length % TAB_COLUMNS)) + next),
    )
    .join('\n');
}

function listOf(token: Tokens.List, reading: Reading, depth: number): Block[] {
  const items = token.items.map(
    (item): Item => ({
      blocks: blocksOf(item.tokens, reading, depth + 1),
      ...(item.task && { checked: item.checked === true }),
    }),
  );
  if (items.length === 0) return [];
  return [{ type: 'list', ...(token.ordered && { start: Number(token.start) }), items }];
}

/** Returns nothing for the first definition of a name, if a link uses its URL. Any other definition becomes text. */
function definitionOf({ href, tag, raw }: Tokens.Def, { referenced, defined }: Reading): Block[] {
  if (referenced.has(href) && !defined.has(tag)) {
    defined.add(tag);
    return [];
  }
  return prose([plain(raw)]);
}

/** The footnotes as one list: numbered if their labels are 1, 2, 3…, otherwise each with its label. Empty without footnotes. */
function notesOf(notes: readonly Note[]): Block[] {
  if (notes.length === 0) return [];
  const areNumbered = notes.every(({ label }, index) => label === String(index + 1));
  const items = notes.map(({ label, blocks }) => ({
    blocks: areNumbered ? blocks : addLabel(label, blocks),
  }));
  return [{ type: 'list', ...(areNumbered && { start: 1 }), items, isNotes: true }];
}

function addLabel(label: string, [first, ...others]: readonly Block[]): Block[] {
  const mark = plain(`[${label}] `);
  if (first?.type === 'paragraph') return [paragraph(mark, ...first.inlines), ...others];
  return [paragraph(mark), ...(first === undefined ? [] : [first]), ...others];
}

/** The table of a token. The lexer drops cells to the right of the last header cell; here they widen the table. */
function tableOf(token: Tokens.Table): Table {
  const lines = token.raw.split('\n').slice(2);
  const rows = token.rows.map((cells, index) => [
    ...cells.map(cellOf),
    ...extraCells(lines[index] ?? '', token.header.length),
  ]);
  const columns = Math.max(token.header.length, ...rows.map((row) => row.length));
  return {
    type: 'table',
    header: padRow(token.header.map(cellOf), columns),
    align: Array.from({ length: columns }, (_, column): Align => token.align[column] ?? 'left'),
    rows: rows.map((row) => padRow(row, columns)),
  };
}

function cellOf({ tokens }: Tokens.TableCell): Cell {
  return trimmed(inlinesOf(tokens));
}

function extraCells(line: string, columns: number): Cell[] {
  const cells = line.trim().replace(/^\|/, '').split(CELL_BORDER);
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.slice(columns).map((text) => {
    const [token] = tokensOf(text.trim());
    return trimmed(inlinesOf(token !== undefined && 'tokens' in token ? token.tokens : []));
  });
}

function padRow(row: readonly Cell[], columns: number): Cell[] {
  return Array.from({ length: columns }, (_, column) => row[column] ?? []);
}
