/** The alignment of a table's column. */
export type Align = 'left' | 'center' | 'right';

/** A format around other inlines. */
export type Emphasis = 'bold' | 'italic' | 'strike' | 'spoiler';

/** An element of a line. The whole tree is plain JSON, because the conclusion stores it until the reply is delivered. */
export type Inline =
  | { readonly type: 'text' | 'code' | 'formula'; readonly text: string }
  /** A moment. Telegram apps show it in the reader's own time zone; old apps show `text`. */
  | { readonly type: 'time'; readonly text: string; readonly atMs: number }
  | { readonly type: Emphasis; readonly inlines: readonly Inline[] }
  /** A link, whose `url` Telegram accepts. Its inlines may repeat the URL. */
  | { readonly type: 'link'; readonly url: string; readonly inlines: readonly Inline[] };

export type Cell = readonly Inline[];

export interface Item {
  readonly blocks: readonly Block[];
  /** Whether a task is done; absent for an item that is not a task. */
  readonly checked?: boolean;
}

export interface Code {
  readonly type: 'code';
  readonly text: string;
  readonly language?: string;
}

export interface List {
  readonly type: 'list';
  /** The number of the first item; absent for a list with bullets. */
  readonly start?: number;
  readonly items: readonly Item[];
  /** Set if the list holds the footnotes of the answer. */
  readonly isNotes?: true;
}

export interface Table {
  readonly type: 'table';
  readonly header: readonly Cell[];
  readonly align: readonly Align[];
  /** Each row has as many cells as the header. */
  readonly rows: readonly (readonly Cell[])[];
  /** If a table was split: the column widths of the whole table, so that all parts of the table look alike. */
  readonly widths?: readonly number[];
}

export interface Details {
  readonly type: 'details';
  readonly summary: readonly Inline[];
  readonly blocks: readonly Block[];
}

export interface Quote {
  readonly type: 'quote';
  readonly blocks: readonly Block[];
}

export type Prose =
  | { readonly type: 'paragraph'; readonly inlines: readonly Inline[] }
  | { readonly type: 'heading'; readonly level: 1 | 2 | 3 | 4 | 5 | 6; readonly inlines: readonly Inline[] };

/** A block of a reply. Renderers draw blocks one by one, and a long reply is split between blocks if possible. */
export type Block =
  | Prose
  | Code
  | Quote
  | List
  | Table
  | Details
  | { readonly type: 'rule' }
  | { readonly type: 'formula'; readonly text: string };

/** The text of inlines, without formats. */
export function lettersOf(inlines: readonly Inline[]): string {
  return inlines.map((inline) => ('text' in inline ? inline.text : lettersOf(inline.inlines))).join('');
}

/** The inlines between two offsets of their text. A format that spans an offset also applies to the inlines returned. */
export function sliceInlines(inlines: readonly Inline[], from: number, to: number): Inline[] {
  const slices: Inline[] = [];
  let offset = 0;
  for (const inline of inlines) {
    if (offset >= to) break;
    const length = lettersOf([inline]).length;
    const start = Math.max(0, from - offset);
    const end = Math.min(length, to - offset);
    if (start < end) slices.push(sliceInline(inline, start, end, length));
    offset += length;
  }
  return slices;
}

function sliceInline(inline: Inline, from: number, to: number, length: number): Inline {
  if (from === 0 && to === length) return inline;
  if ('text' in inline) return { ...inline, text: inline.text.slice(from, to) };
  return { ...inline, inlines: sliceInlines(inline.inlines, from, to) };
}

/** Removes white space from plain text at both ends of the inlines. Formatted text stays as it is. */
export function trimmed(inlines: readonly Inline[]): Inline[] {
  const [first, ...others] = inlines;
  if (first?.type === 'text' && first.text !== first.text.trimStart()) {
    return trimmed([...(first.text.trim() === '' ? [] : [plain(first.text.trimStart())]), ...others]);
  }
  const last = inlines.at(-1);
  if (last?.type === 'text' && last.text !== last.text.trimEnd()) {
    return trimmed([...inlines.slice(0, -1), ...(last.text.trim() === '' ? [] : [plain(last.text.trimEnd())])]);
  }
  return [...inlines];
}

export function paragraph(...inlines: readonly Inline[]): Prose {
  return { type: 'paragraph', inlines };
}

export function plain(text: string): Inline {
  return { type: 'text', text };
}

/** Whether Telegram would refuse a text as empty, because the text has no visible character. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}\p{Cf}\u2800\u115f\u1160\u3164\uffa0\ufffc]/u.test(text);
}

/** The form in which a part is sent: a rich message, a text with entities, or a plain text. */
export type Path = 'rich' | 'entities' | 'plain';

/** One message of a reply. Plain JSON, stored with the conclusion. */
export interface Part {
  readonly path: Path;
  readonly blocks: readonly Block[];
}

/** A file of a reply, sent in its place among the parts. Plain JSON, stored with the conclusion. */
export interface FilePart {
  readonly path: 'file';
  readonly name: string;
  /** The content of a text file. For other files `sha256` is the hash of the stored bytes. */
  readonly text?: string;
  readonly sha256?: string;
  /** Whether to send the file as a photo. Consecutive pictures form an album. */
  readonly isPicture?: true;
}
