import { Marked, type Token, Tokenizer, type TokenizerAndRendererExtension, type Tokens } from 'marked';
import { type Formula, formulaBlock, formulaInline } from './formula.ts';
import { charBefore, maskNonMarks } from './marks.ts';

/** Our additions to Markdown, as tokens. */
export type OwnToken =
  | { type: 'spoiler'; raw: string; tokens: Token[] }
  | ({ type: 'formula' } & Formula)
  | { type: 'noteRef'; raw: string; label: string }
  | { type: 'note'; raw: string; label: string; tokens: Token[] }
  | { type: 'details'; raw: string; summary: Token[]; tokens: Token[] };

/** A spoiler. Its length is bounded, so that an unclosed `||` does not make the parser scan the rest of the text. */
const SPOILER = /^\|\|(?=[^\s|])((?:[^\n|]|\|(?!\|)|(?<=\s)\|\|){0,1000}?[^\s|])\|\|(?![\w([{'"`$])/;
/** After a word, a closing bracket or a quotation mark, `||` is an operator. */
const NO_SPOILER_AFTER = /[\w)\]}'"`]$/;
const NOTE_REF = /^\[\^([^\]\s^]{1,64})\]/;
const NOTE = /^\[\^([^\]\s^]{1,64})\]:[ \t]*([^\n]*(?:\n(?!\[\^)[^\n]*\S[^\n]*)*)(?:\n|$)/;
const DETAILS = /^ {0,3}<details(?:\s[^<>]{0,200})?>/i;
const DETAILS_MARK = /<(\/?)details(?:\s[^<>]{0,200})?>/gi;
const SUMMARY = /^\s*<summary(?:\s[^<>]{0,200})?>([\s\S]*?)<\/summary>/i;
const DETAILS_DEPTH_MAX = 8;
/** A link definition counts only if it has a URL, so `[note]: see below` is text. */
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
    tokenizer(src, before) {
      const [raw, text = ''] = NO_SPOILER_AFTER.test(before.at(-1)?.raw ?? '') ? [] : (SPOILER.exec(src) ?? []);
      return raw === undefined ? undefined : { type: 'spoiler', raw, tokens: this.lexer.inlineTokens(text) };
    },
  },
  {
    name: 'formula',
    level: 'inline',
    start: (src) => at(src, '$'),
    tokenizer: (src, before) => formulaToken(formulaInline(src, before.at(-1)?.raw.at(-1) ?? '')),
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
    tokenizer: (src) => formulaToken(formulaBlock(src)),
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
      const element = detailsAt(src);
      if (element === undefined) return undefined;
      const [head = '', summary = ''] = SUMMARY.exec(element.inside) ?? [];
      return {
        type: 'details',
        raw: element.raw,
        summary: this.lexer.inline(summary.trim()),
        tokens: this.lexer.blockTokens(element.inside.slice(head.length)),
      };
    },
  },
];

const grammar = new Marked({
  gfm: true,
  extensions: EXTENSIONS as TokenizerAndRendererExtension[],
  tokenizer: {
    // Create no token for an HTML block, so that it becomes literal text of a paragraph.
    html: () => undefined,
    def: (src: string): false | undefined => (DEFINITION.test(src) ? false : undefined),
    emStrong(src: string, masked: string, before = '') {
      const border = charBefore(src, masked, before);
      return border === undefined ? undefined : Tokenizer.prototype.emStrong.call(this, src, masked, border);
    },
    del(src: string, masked: string, before = '') {
      const border = charBefore(src, masked, before);
      return border === undefined ? undefined : Tokenizer.prototype.del.call(this, src, masked, border);
    },
  },
  hooks: { emStrongMask: maskNonMarks },
});

/** Reads Markdown as the tokens of `marked` and our own tokens. May throw, e.g. on Markdown that is nested too deeply. */
export function tokensOf(markdown: string): Token[] {
  return grammar.lexer(markdown);
}

/** The URLs of all links and images that refer to a definition (`[text][name]`). */
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

function formulaToken(formula: Formula | undefined): OwnToken | undefined {
  return formula === undefined ? undefined : { type: 'formula', ...formula };
}

/** The `<details>` element at the beginning of a text. Undefined if there is none, or it is unclosed or nested too deeply. */
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
