import { Marked, type Token, Tokenizer, type TokenizerAndRendererExtension, type Tokens } from 'marked';
import { letsBegin, withoutObstacles } from './beside-cjk.ts';

/** Our additions to Markdown, as tokens. */
export type OwnToken =
  | { type: 'spoiler'; raw: string; tokens: Token[] }
  | { type: 'formula'; raw: string; text: string; isDisplay: boolean }
  | { type: 'noteRef'; raw: string; label: string }
  | { type: 'note'; raw: string; label: string; tokens: Token[] }
  | { type: 'details'; raw: string; summary: Token[]; tokens: Token[] };

/** Lengths are bounded, so that no start of a mark scans the rest of the text. */
const SPOILER = /^\|\|(?=[^\s|])([^\n]{0,1000}?[^\s|])\|\|/;
const FORMULA = /^\$(?![\s$])((?:\\[^\n]|[^\\$`\n]){1,400})\$(?![\p{L}\p{N}$])/u;
/** The same after the text of a paragraph. */
const LATE_DISPLAY = /^\$\$((?:\\[\s\S]|[^\\$`\n]|\n(?![ \t]*\n)){1,400})\$\$/;
const DISPLAY = /^ {0,3}\$\$((?:\\[\s\S]|[^\\$\n]|\n(?![ \t]*\n)){1,4000})\$\$[ \t]*(?:\n|$)/;
const NOTE_REF = /^\[\^([^\]\s^]{1,64})\]/;
const NOTE = /^\[\^([^\]\s^]{1,64})\]:[ \t]*([^\n]*(?:\n(?!\[\^)[^\n]*\S[^\n]*)*)(?:\n|$)/;
const DETAILS = /^ {0,3}<details(?:\s[^<>]{0,200})?>/i;
const DETAILS_MARK = /<(\/?)details(?:\s[^<>]{0,200})?>/gi;
const SUMMARY = /^\s*<summary(?:\s[^<>]{0,200})?>([\s\S]*?)<\/summary>/i;
const DETAILS_DEPTH_MAX = 8;
/** A definition counts only when it leads somewhere: `[note]: see below` is text. */
const DEFINITION = /^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\n?[ \t]*<?(?:https?|tg|mailto):/i;

interface Extension {
  name: string;
  level: 'block' | 'inline';
  childTokens?: string[];
  start?: (src: string) => number | undefined;
  tokenizer: (this: { lexer: Lexing }, src: string, before: Token[]) => OwnToken | undefined;
}
interface Lexing {
  inlineTokens(src: string): Token[];
  inline(src: string): Token[];
  blockTokens(src: string): Token[];
}

const EXTENSIONS: Extension[] = [
  {
    name: 'spoiler',
    level: 'inline',
    childTokens: ['tokens'],
    start: (src) => at(src, '||'),
    tokenizer(src) {
      const [raw, text = ''] = SPOILER.exec(src) ?? [];
      return raw === undefined ? undefined : { type: 'spoiler', raw, tokens: this.lexer.inlineTokens(text) };
    },
  },
  {
    name: 'formula',
    level: 'inline',
    start: (src) => at(src, '$'),
    tokenizer: (src, before) => inlineFormula(src, before.at(-1)?.raw.at(-1) ?? ''),
  },
  {
    name: 'noteRef',
    level: 'inline',
    tokenizer(src) {
      const [raw, label = ''] = NOTE_REF.exec(src) ?? [];
      return raw === undefined ? undefined : { type: 'noteRef', raw, label };
    },
  },
  {
    name: 'display',
    level: 'block',
    tokenizer(src) {
      const [raw, text = ''] = DISPLAY.exec(src) ?? [];
      if (raw === undefined || text.trim() === '') return undefined;
      return { type: 'formula', raw, text: text.trim(), isDisplay: true };
    },
  },
  {
    name: 'note',
    level: 'block',
    childTokens: ['tokens'],
    tokenizer(src) {
      const [raw, label = '', text = ''] = NOTE.exec(src) ?? [];
      if (raw === undefined) return undefined;
      return { type: 'note', raw, label, tokens: this.lexer.blockTokens(text.replaceAll(/^(?: {2,4}|\t)/gm, '')) };
    },
  },
  {
    name: 'details',
    level: 'block',
    childTokens: ['summary', 'tokens'],
    tokenizer(src) {
      const found = detailsAt(src);
      if (found === undefined) return undefined;
      const [head = '', summary = ''] = SUMMARY.exec(found.inside) ?? [];
      return {
        type: 'details',
        raw: found.raw,
        summary: this.lexer.inline(summary.trim()),
        tokens: this.lexer.blockTokens(found.inside.slice(head.length)),
      };
    },
  },
];

const grammar = new Marked({
  gfm: true,
  extensions: EXTENSIONS as TokenizerAndRendererExtension[],
  tokenizer: {
    // HTML is shown as it is written: it becomes part of a paragraph.
    html: () => undefined,
    def: (src: string): false | undefined => (DEFINITION.test(src) ? false : undefined),
    emStrong(src: string, masked: string, before = '') {
      return Tokenizer.prototype.emStrong.call(this, src, masked, letsBegin(src, before));
    },
    del(src: string, masked: string, before = '') {
      return Tokenizer.prototype.del.call(this, src, masked, letsBegin(src, before));
    },
  },
  hooks: { emStrongMask: withoutObstacles },
});

/**
 * Reads Markdown into the tokens of `marked`, with our own among them. May throw, e.g. when it is nested too deeply.
 */
export function tokensOf(markdown: string): Token[] {
  return grammar.lexer(markdown);
}

/** Where the links of a text lead that are written with a reference (`[text][name]`). */
export function referencedBy(tokens: Token[]): ReadonlySet<string> {
  const hrefs = new Set<string>();
  grammar.walkTokens(tokens, (token) => {
    const { type, raw, href } = token as Tokens.Generic;
    if ((type === 'link' || type === 'image') && raw.endsWith(']')) hrefs.add(href);
  });
  return hrefs;
}

function at(src: string, mark: string): number | undefined {
  const index = src.indexOf(mark);
  return index === -1 ? undefined : index;
}

/** `$…$` by strict rules, so that "$395k … $483k" and "$HOME and $PATH" are none; and `$$…$$`. */
function inlineFormula(src: string, charBefore: string): OwnToken | undefined {
  if (/[\p{L}\p{N}$\\]/u.test(charBefore)) return undefined;
  const [display, shown = ''] = LATE_DISPLAY.exec(src) ?? [];
  if (display !== undefined && shown.trim() !== '') {
    return { type: 'formula', raw: display, text: shown.trim(), isDisplay: true };
  }
  const [raw, text = ''] = FORMULA.exec(src) ?? [];
  if (raw === undefined || /\s$/.test(text) || isMoney(text)) return undefined;
  return { type: 'formula', raw, text, isDisplay: false };
}

function isMoney(text: string): boolean {
  return /^\d/.test(text) && !/[\\^_=<>+*/{}]/.test(text);
}

/** The `<details>` that a text begins with, with those in it; undefined when it is not closed. */
function detailsAt(src: string): { raw: string; inside: string } | undefined {
  const opening = DETAILS.exec(src)?.[0];
  if (opening === undefined) return undefined;
  let depth = 0;
  for (const mark of src.matchAll(DETAILS_MARK)) {
    depth += mark[1] === '' ? 1 : -1;
    if (depth > DETAILS_DEPTH_MAX) return undefined;
    if (depth === 0) {
      const end = mark.index + mark[0].length;
      return { raw: src.slice(0, end), inside: src.slice(opening.length, mark.index) };
    }
  }
  return undefined;
}
