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
 * Replaces HTML's character references, once: numbers, and the names that models use (NAMED). What they say is not read
 * again (`&amp;lt;` is `&lt;`), and any other name stays as it is.
 */
export function dereferenced(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(REFERENCE, (whole, decimal, hex, name: string | undefined) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const isScalar = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isScalar ? String.fromCodePoint(code) : whole;
  });
}
