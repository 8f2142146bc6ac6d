/** A piece of HTML. Only `html` makes one, so that no text of a chat can become one. */
export class Html {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

type Value = Html | string | number | undefined | readonly Html[];

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** They change how what stands around them is read, or show nothing. Joiners within emoji are none of them. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** HTML from a template: every value that is no HTML itself is shown as text. */
export function html(template: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: template }, ...values.map(sourceOf)));
}

/** HTML pieces in a row. */
export function join(parts: readonly Html[]): Html {
  return new Html(parts.map(({ source }) => source).join(''));
}

function sourceOf(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.source;
  return typeof value === 'object' ? join(value).source : escapeText(String(value));
}

/** A text as the page shows it: what cannot be seen is named. */
function escapeText(text: string): string {
  return text
    .replace(/[&<>"']/g, (char) => ESCAPED[char] ?? char)
    .replace(CONTROLS, (char) => (char === '\n' || char === '\t' ? char : `<i class="hidden">${nameOf(char)}</i>`));
}

function nameOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
