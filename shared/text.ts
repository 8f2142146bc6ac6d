const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Credentials as people paste them; each pattern is linear. */
const CREDENTIALS = [
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\b\d{5,}:[A-Za-z0-9_-]{30,}/g,
  /\bbot\d+:[A-Za-z0-9_-]+/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{1,100}:[^\s/@]{1,200}@/gi,
];
const ASSIGNED =
  /\b(password|passwd|secret|token|api[_-]?key|authorization)(["']?\s{0,3}[:=]\s{0,3}["']?)(?:bearer\s+)?[^\s"',;]{4,200}/gi;

/** Replaces everything that looks like a credential. Pure. */
export function redact(text: string): string {
  const plain = CREDENTIALS.reduce((rest, pattern) => rest.replace(pattern, '[secret]'), text);
  return plain.replace(ASSIGNED, '$1$2[secret]');
}

/** Cuts a text to at most `maxChars` UTF-16 units, never inside a grapheme, and marks the cut with an ellipsis. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${graphemePrefix(text, maxChars - 1)}…`;
}

/** Keeps the head and the tail of a text and says how much was left out between them. Never cuts inside a grapheme. */
export function clipMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const marker = `\n[… ${text.length} characters in all, the middle left out …]\n`;
  const room = Math.max(0, maxChars - marker.length);
  const head = graphemePrefix(text, Math.ceil(room * 0.7));
  const tail = graphemeSuffix(text, Math.floor(room * 0.3));
  return `${head}${marker}${tail}`;
}

/** The longest prefix of whole graphemes that has at most `maxChars` UTF-16 units. */
export function graphemePrefix(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  // Only the neighbourhood of the cut matters; a grapheme is far shorter than this.
  const from = Math.max(0, maxChars - 64);
  let end = from === 0 ? 0 : from;
  for (const { index, segment } of graphemes.segment(text.slice(from, maxChars + 64))) {
    if (from + index + segment.length > maxChars) break;
    end = from + index + segment.length;
  }
  return text.slice(0, end).replace(/[\uD800-\uDBFF]$/, '');
}

function graphemeSuffix(text: string, maxChars: number): string {
  if (maxChars <= 0) return '';
  const start = text.length - maxChars;
  const from = Math.max(0, start - 64);
  for (const { index } of graphemes.segment(text.slice(from, start + 64))) {
    if (from + index >= start) return text.slice(from + index);
  }
  return '';
}
