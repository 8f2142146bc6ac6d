import { clip, counted } from '../../../shared/base/text.ts';
import { type Block, type Inline, paragraph, plain } from '../../../shared/flow/reply.ts';
import {
  type Fact,
  type Item,
  piecesOf,
  type Report,
  type Section,
  type Text,
  type Tone,
  type Verdict,
} from '../../report/report.ts';
import { inWords } from '../../report/words.ts';
import { plainLine } from '../memory/memory.ts';
import { chatCommandFor } from './offers.ts';

const MARKS: Readonly<Record<Tone, string>> = { good: '🟢 ', fair: '🟡 ', bad: '🔴 ', plain: '' };
/** The symbol before an item without a colour. */
const NO_COLOUR = '⚪️ ';
const ROWS_SHOWN = 10;
const ITEMS_SHOWN = 6;
const STEPS_SHOWN = 20;
const WORDS_CHARS_MAX = 300;
/** An entry id, with or without its shard, or a trace id. */
const ID = /\b(?:\d{1,5}\/)?\d{13}-\d{1,10}\b|\b[\da-f]{32}\b/g;
/** Cells without a value. */
const NO_VALUE = /^(?:–|none|)$/;
const CLI_CALL = /"npm run cli -- ([^"]+)"/g;

type Line = readonly Inline[];

/**
 * Renders a report as blocks for a phone: table rows become lines, a tap copies an id, tables and timelines are folded, and
 * long lists are cut. Omits texts of users (`Section.quote`). Pure.
 */
export function phoneBlocks({ title, nowMs, verdict, sections }: Report): Block[] {
  return [
    ...(title === undefined ? [] : [joinLines([[bold(...inlinesOf(title, nowMs))]])]),
    ...(verdict === undefined ? [] : [joinLines(verdictLines(verdict, nowMs))]),
    ...sections.flatMap((section) => sectionBlocks(section, nowMs)),
  ];
}

function verdictLines({ tone, word, reason, more = [] }: Verdict, nowMs: number): Line[] {
  const words = inlinesOf(reason, nowMs);
  const head = word === undefined ? [bold(...words)] : [bold(plain(word)), plain(' '), ...words];
  return [[plain(MARKS[tone]), ...head], ...more.map((line) => inlinesOf(line, nowMs))];
}

function sectionBlocks(section: Section, nowMs: number): Block[] {
  const { title, empty, intro = empty, facts = [], table, timeline, items = [], more } = section;
  const { columns = [], rows = [] } = table ?? {};
  const foldedLines = [
    ...rows.slice(0, ROWS_SHOWN).map((cells) => rowLine(columns, cells, nowMs)),
    ...(timeline === undefined ? [] : stepLines(timeline)),
  ];
  const shownItems = items.slice(0, ITEMS_SHOWN).map((item) => itemLines(item, nowMs));
  const hiddenCount =
    Math.max(0, more?.count ?? 0) + Math.max(0, rows.length - ROWS_SHOWN) + items.length - shownItems.length;
  const moreText = more === undefined ? `${hiddenCount} more` : counted(hiddenCount, `more ${more.noun}`);
  const tail = hiddenCount === 0 ? [] : [[plain(`and ${moreText}`)]];
  const heading = withTitle(title, intro === undefined ? [] : inlinesOf(intro, nowMs));
  const head = [...(heading.length === 0 ? [] : [heading]), ...facts.map((fact) => factLine(fact, nowMs))];
  if (foldedLines.length > 0) return [{ type: 'quote', blocks: [joinLines([...head, ...foldedLines, ...tail])] }];
  return [head, ...shownItems, tail].filter((lines) => lines.length > 0).map(joinLines);
}

function withTitle(title: string | undefined, rest: Line): Line {
  if (title === undefined) return rest;
  return rest.length === 0 ? [bold(plain(title))] : [bold(plain(title)), plain(' '), ...rest];
}

function factLine({ name, value, note, tone }: Fact, nowMs: number): Line {
  const noteInlines = note === undefined ? [] : [plain('; '), ...inlinesOf(note, nowMs)];
  return [plain(MARKS[tone ?? 'plain']), bold(plain(name)), plain(' '), ...inlinesOf(value, nowMs), ...noteInlines];
}

/** A table row as one line. Each cell but the first follows the name of its column. Omits empty cells. */
function rowLine(columns: readonly string[], cells: readonly Text[], nowMs: number): Line {
  return cells.flatMap((cell, at): Line => {
    if (at === 0) return [plain('• '), ...inlinesOf(cell, nowMs)];
    const isEmpty = typeof cell === 'string' && NO_VALUE.test(cell);
    return isEmpty ? [] : [plain(`, ${(columns[at] ?? '').toLowerCase()} `), ...inlinesOf(cell, nowMs)];
  });
}

/** The lines of a timeline. Of a long timeline: the first step, how many steps are hidden, and the newest steps. */
function stepLines({ steps, fromMs }: NonNullable<Section['timeline']>): Line[] {
  const lines = steps.map(({ atMs, text }): Line => {
    return [plain(atMs === undefined ? '• ' : `+${inWords(atMs - fromMs)} `), ...inlinesOfText(text)];
  });
  const hiddenSteps = lines.length - STEPS_SHOWN;
  return hiddenSteps <= 0
    ? lines
    : [...lines.slice(0, 1), [plain(`… ${hiddenSteps} more …`)], ...lines.slice(hiddenSteps + 1)];
}

function itemLines({ title, tone, severity, lines }: Item, nowMs: number): Line[] {
  const words = severity === undefined ? [] : [plain(`${severity} · `)];
  const head = [plain(MARKS[tone] || NO_COLOUR), bold(...words, ...inlinesOf(title, nowMs))];
  return [head, ...lines.map((line) => inlinesOf(line, nowMs))];
}

function inlinesOf(text: Text, nowMs: number): Inline[] {
  return piecesOf(text).flatMap((piece) => {
    if (typeof piece !== 'object') return inlinesOfText(String(piece));
    if ('atMs' in piece) return [plain(`${inWords(nowMs - piece.atMs)} ago`)];
    if ('letter' in piece) return [code(piece.letter)];
    if ('href' in piece) return [code(piece.text)];
    return piece.text === undefined ? [code(piece.id)] : [plain(String(piece.text))];
  });
}

/** A text on one line, clipped. Command lines become chat commands, and ids become inlines that a tap copies. */
export function inlinesOfText(text: string): Inline[] {
  const [, leading = '', words = '', trailing = ''] = /^(\s*)(.*?)(\s*)$/s.exec(text) ?? [];
  const withChatCommands = words.replaceAll(
    CLI_CALL,
    (_, command: string) => chatCommandFor(command) ?? `"${command}" on the command line`,
  );
  const line = clip(plainLine(withChatCommands), WORDS_CHARS_MAX);
  const inlines: Inline[] = [];
  let end = 0;
  for (const match of line.matchAll(ID)) {
    inlines.push(plain(line.slice(end, match.index)), code(match[0]));
    end = match.index + match[0].length;
  }
  const all = [plain(leading), ...inlines, plain(line.slice(end)), plain(trailing)];
  return all.filter((inline) => !('text' in inline) || inline.text !== '');
}

function joinLines(lines: readonly Line[]): Block {
  return paragraph(...lines.flatMap((line, at) => (at === 0 ? line : [plain('\n'), ...line])));
}

function bold(...inlines: readonly Inline[]): Inline {
  return { type: 'bold', inlines };
}

function code(text: string): Inline {
  return { type: 'code', text };
}
