/** A formula at the beginning of a text. */
export interface Formula {
  raw: string;
  text: string;
  /** Whether the formula may stand on lines of its own. */
  isDisplay: boolean;
}

/** Lengths are bounded, so that an opening delimiter without an end does not make the parser scan the rest of the text. */
const DOLLARS = /^\$(?![\s$])((?:\\[^\n]|[^\\$`\n]){1,400})\$(?![\p{Script=Latin}\p{N}${(])/u;
const DOUBLE_DOLLARS = /^\$\$((?:\\[\s\S]|[^\\$\n]|\n(?![ \t]*\n)){1,4000})\$\$/;
const ROUND = /^\\\(((?:\\[^()]|[^\\`\n]|\n(?![ \t]*\n)){1,400})\\\)/;
const SQUARE = /^\\\[((?:\\[^[\]]|[^\\\n]|\n(?![ \t]*\n)){1,4000})\\\]/;
const ENVIRONMENT = /^\\begin\{([a-z]{1,20}\*?)\}(?:[^\n]|\n(?![ \t]*\n)){0,4000}?\\end\{\1\}/;
/** The longest display formula that may stand within a paragraph. */
const INLINE_CHARS_MAX = 400;
const AFTER_LINE = /^[ \t]*(?:\n|$)/;
/** A character that suggests a formula. Without one, `\[1\]`, `\[x\]` and `\(see below\)` look like text in brackets. */
const SIGN = /[\\^_=+<>≤≥≈]/;
const WORDS = /\p{L}{3,}\s+\p{L}{3,}/u;

/** Reads a display formula that fills the first lines of a text; undefined if there is none. */
export function formulaBlock(src: string): Formula | undefined {
  const indent = /^ {0,3}/.exec(src)?.[0] ?? '';
  const display = displayAt(src.slice(indent.length), [DOUBLE_DOLLARS, SQUARE, ENVIRONMENT]);
  if (display === undefined) return undefined;
  const raw = indent + display.raw;
  const after = AFTER_LINE.exec(src.slice(raw.length))?.[0];
  return after === undefined ? undefined : { ...display, raw: raw + after };
}

/** Reads a formula at the beginning of `src`; undefined if there is none. `before` is the character before `src`, if any. */
export function formulaInline(src: string, before: string): Formula | undefined {
  if (src.startsWith('\\')) return bracketFormula(src, before);
  // The rules are strict, so that "$395k … $483k" and "$HOME and $PATH" are not formulas.
  if (/[\p{Script=Latin}\p{N}$\\]/u.test(before)) return undefined;
  const display = displayAt(src, [DOUBLE_DOLLARS]);
  if (display !== undefined && fitsInline(display)) return display;
  const [raw, text = ''] = DOLLARS.exec(src) ?? [];
  if (raw === undefined || /\s$/.test(text) || isMoney(text)) return undefined;
  return { raw, text, isDisplay: false };
}

/** Reads `\[…\]` or `\(…\)` as a formula. After a slash or a quotation mark, `\(` is part of a regular expression. */
function bracketFormula(src: string, before: string): Formula | undefined {
  const display = displayAt(src, [SQUARE]);
  if (display !== undefined)
    return fitsInline(display) && (SIGN.test(display.text) || before === '\n') ? display : undefined;
  const [raw, text = ''] = ROUND.exec(src) ?? [];
  const isText = text.trim() === '' || (WORDS.test(text) && !SIGN.test(text));
  if (raw === undefined || isText || /[\\/'"^|]/.test(before)) return undefined;
  return { raw, text: text.trim(), isDisplay: false };
}

function displayAt(src: string, patterns: readonly RegExp[]): Formula | undefined {
  for (const pattern of patterns) {
    const [raw, inside = ''] = pattern.exec(src) ?? [];
    const text = (pattern === ENVIRONMENT ? (raw ?? '') : inside).trim();
    if (raw !== undefined && text !== '') return { raw, text, isDisplay: true };
  }
  return undefined;
}

function fitsInline({ raw, text }: Formula): boolean {
  return raw.length <= INLINE_CHARS_MAX && !text.includes('`');
}

function isMoney(text: string): boolean {
  return /^\d/.test(text) && !/[\\^_=<>+*/{}]/.test(text);
}
