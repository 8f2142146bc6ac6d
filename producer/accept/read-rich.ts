import { isFields } from '../../shared/base/fields.ts';

/** Deeper than Telegram allows. */
const DEPTH_MAX = 40;

/**
 * The text of an inbound rich message: Premium users write them, and pasted web pages become one. Blocks are lines,
 * items have bullets, rows of tables have bars, code has fences. Of what we do not know its texts are read. Pure,
 * total.
 */
export function richText(message: unknown): string {
  const blocks = isFields(message) ? message.blocks : undefined;
  return Array.isArray(blocks) ? lines(blocks, 0).join('\n').trim() : '';
}

function lines(blocks: readonly unknown[], depth: number): string[] {
  return depth > DEPTH_MAX ? [] : blocks.flatMap((block) => (isFields(block) ? linesOf(block, depth) : []));
}

function linesOf(block: Record<string, unknown>, depth: number): string[] {
  const { type, text, language, items, cells, summary, blocks, caption, expression } = block;
  switch (type) {
    case 'pre':
      return [`\`\`\`${plain(language)}`, plain(text), '```'];
    case 'list':
      return list(items, depth);
    case 'table':
      return rows(cells);
    case 'divider':
      return ['---'];
    case 'mathematical_expression':
      return [`$$${plain(expression)}$$`];
    default:
      return [
        ...[summary, text].map(plain).filter((line) => line !== ''),
        ...(Array.isArray(blocks) ? lines(blocks, depth + 1) : []),
        ...(isFields(caption) ? [plain(caption.text)].filter((line) => line !== '') : []),
      ];
  }
}

function list(items: unknown, depth: number): string[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) => {
    if (!isFields(item) || !Array.isArray(item.blocks)) return [];
    const task = item.has_checkbox === true ? `[${item.is_checked === true ? 'x' : ' '}] ` : '';
    const marker = typeof item.label === 'string' && item.label !== '' ? item.label : '-';
    const [first = '', ...others] = lines(item.blocks, depth + 1);
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
