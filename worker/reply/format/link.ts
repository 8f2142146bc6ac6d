const URL_CHARS_MAX = 2_000;
const INTERNAL = /^tg:\/\/[a-z0-9_-]+(?:[/?#]\S*)?$/i;
const WEB = /^https?:\/\/\S+$/i;

/**
 * The URL of a link if Telegram takes it, else undefined. Telegram refuses the whole message for a relative URL, unknown scheme
 * or a host without a dot, such as `localhost`. A `mailto:` address stays text, in which clients recognise it.
 */
export function linkUrl(href: string): string | undefined {
  const url = decodeReferences(href).trim();
  if (url.length > URL_CHARS_MAX) return undefined;
  if (INTERNAL.test(url)) return url;
  if (!WEB.test(url) || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return /[^.]\.[^.]|:/.test(hostname) ? url : undefined;
}

/** The destination in brackets, for a text that cannot be a link; empty if it adds nothing to the text. */
export function destinationOf(href: string, text: string): string {
  const place = decodeReferences(href)
    .trim()
    .replace(/^mailto:/i, '');
  return place === '' || place === text.trim() || place.startsWith('#') ? '' : ` (${place})`;
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  larr: '←',
  rarr: '→',
  times: '×',
  copy: '©',
};
const REFERENCE = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,6}));/g;

/**
 * Replaces HTML's character references, once (`&amp;lt;` becomes `&lt;`): numbers, and the names that models use (NAMED). Any
 * other name stays as it is.
 */
export function decodeReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(REFERENCE, (whole, decimal, hex, name: string | undefined) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const isScalar = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isScalar ? String.fromCodePoint(code) : whole;
  });
}
