const URL_CHARS_MAX = 2_000;
const INTERNAL = /^tg:\/\/[a-z0-9_-]+(?:[/?#]\S*)?$/i;
const WEB = /^https?:\/\/\S+$/i;

/**
 * The URL of a link; undefined if it is too long, or Telegram would not accept it. Telegram refuses the whole message for a
 * relative URL, an unknown scheme or a host without a dot, such as `localhost`. A `mailto:` address stays text, since apps
 * recognise it.
 */
export function linkUrl(href: string): string | undefined {
  const url = decodeReferences(href).trim();
  if (url.length > URL_CHARS_MAX) return undefined;
  if (INTERNAL.test(url)) return url;
  if (!WEB.test(url) || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return /[^.]\.[^.]|:/.test(hostname) ? url : undefined;
}

/** The destination, in brackets, of a link that stays text; empty if missing, equal to the text, or a place on the page. */
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
 * Replaces HTML character references: all numeric ones that are valid, and the names in `NAMED`, which models use. Leaves any
 * other reference as it is. Replaces each reference only once: `&amp;lt;` becomes `&lt;`.
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
