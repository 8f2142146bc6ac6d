import { counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import { type Item, type Piece, piecesOf, type Report, type Section, type Text } from '../report/report.ts';
import { inWords } from '../report/words.ts';

/** Renders a report as text for a terminal. Pure. */
export function textOf({ title, nowMs, verdict, sections, actions = [] }: Report): string {
  const word = verdict?.word === undefined ? '' : `${verdict.word.toUpperCase()}  `;
  const commands = actions.flatMap(({ command }) => command ?? []);
  const plain = (text: Text) => plainText(text, nowMs);
  return [
    ...(title === undefined ? [] : [plain(title)]),
    ...(verdict === undefined ? [] : [`${word}${plain(verdict.reason)}`]),
    ...(verdict?.more ?? []).map((line) => `  ${plain(line)}`),
    ...sections.flatMap((section) => sectionLines(section, nowMs)),
    ...(commands.length === 0 ? [] : ['', 'What can be done']),
    ...commands.map((command) => `  npm run cli -- ${command}`),
  ].join('\n');
}

function sectionLines(section: Section, nowMs: number): string[] {
  const { title, intro, facts = [], table, items = [], timeline, quote, more, empty } = section;
  if (empty !== undefined) return ['', `${title}: ${empty}`];
  const name = Math.max(11, ...facts.map((fact) => fact.name.length));
  const plain = (text: Text) => plainText(text, nowMs);
  return [
    '',
    ...(title === undefined ? [] : [title]),
    ...(intro === undefined ? [] : [plain(intro)]),
    ...facts.map(({ name: each, value, note }) => {
      return `${each.padEnd(name)}  ${plain(value)}${note === undefined ? '' : `; ${plain(note)}`}`;
    }),
    ...(table === undefined ? [] : tableLines(table, nowMs)),
    ...items.flatMap((item) => itemLines(item, plain)),
    ...(timeline?.steps.map(({ atMs, text }) => `  ${stamp(atMs, timeline.fromMs)}  ${text}`) ?? []),
    ...(quote === undefined ? [] : [quote]),
    ...(more !== undefined && more.count > 0 ? [`  and ${counted(more.count, `more ${more.noun}`)}`] : []),
  ];
}

function itemLines({ title, severity, lines }: Item, plain: (text: Text) => string): string[] {
  const head = severity === undefined ? '' : `${severity} · `;
  return [`${head}${plain(title)}`, ...lines.map((line) => `  ${plain(line)}`)];
}

function tableLines({ columns, rows }: NonNullable<Section['table']>, nowMs: number): string[] {
  const exactCell = (cell: Text) => {
    const isMoment = typeof cell === 'object' && 'atMs' in cell;
    return plainText(cell, nowMs) + (isMoment ? ` (${utcTime(cell.atMs)})` : '');
  };
  const lines = [columns, ...rows.map((cells) => cells.map(exactCell))];
  const widths = columns.map((_, at) => Math.max(...lines.map((cells) => cells[at]?.length ?? 0)));
  return lines.map((cells) => `  ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd());
}

function stamp(atMs: number | undefined, fromMs: number): string {
  return atMs === undefined ? ' '.repeat(34) : `${utcTime(atMs)} ${`+${inWords(atMs - fromMs)}`.padStart(10)}`;
}

function plainText(text: Text, nowMs: number): string {
  const word = (piece: Piece): string => {
    if (typeof piece !== 'object') return String(piece);
    if ('atMs' in piece) return `${inWords(nowMs - piece.atMs)} ago`;
    if ('letter' in piece) return piece.letter;
    return 'href' in piece ? `${piece.text} (${piece.href})` : String(piece.text ?? piece.id);
  };
  return piecesOf(text).map(word).join('');
}
