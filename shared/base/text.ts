const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Credentials as people paste them. Each pattern is linear: no two starts may scan the same run to its end. */
const CREDENTIALS = [
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{8,}/g,
  /\b\d{5,}:[A-Za-z0-9_-]{30,}/g,
  /\bbot\d+:[A-Za-z0-9_-]+/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\b(?:gh[pousr]|npm|hf)_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-(?!----)[^-]*)*(?:-----END [A-Z ]{0,40}-----)?/g,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:[^\s/@]{1,200}@/gi,
  /\bbearer\s{1,8}[A-Za-z0-9._~+/-]{20,}/gi,
];
/** A name, what separates it from its value (quotes may be escaped), and the value, which ends before a quote. */
const ASSIGNED =
  /(password|passwd|passphrase|secret(?:[_-]?key)?|token|(?:api|access|private)[_-]?key|authorization)(\\?["']?\s{0,3}[:=]>?\s{0,3}\\?["']?)(?:(?:bearer|basic)\s{1,8})?(?:[^\s"',;\\]|\\(?!["'])){4,200}/gi;

/** Replaces everything that looks like a credential. Pure, linear. */
export function redact(text: string): string {
  const plain = CREDENTIALS.reduce((rest, pattern) => rest.replace(pattern, '[secret]'), text);
  return plain.replace(ASSIGNED, '$1$2[secret]');
}

/** Cuts a text to at most `maxChars` UTF-16 units, never inside a grapheme, and marks the cut with an ellipsis. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : `${graphemePrefix(text, maxChars - 1)}…`;
}

/**
 * Keeps the head and the tail of a text and says how much was omitted between them: at most `maxChars` UTF-16 units in
 * all. Never cuts inside a grapheme. Where that note does not fit, only the head is kept.
 */
export function clipMiddle(text: string, maxChars: number, how = 'the middle left out'): string {
  if (text.length <= maxChars) return text;
  const marker = `\n[… ${text.length} characters in all, ${how} …]\n`;
  const room = maxChars - marker.length;
  if (room < 2) return clip(text, maxChars);
  const head = graphemePrefix(text, Math.ceil(room * 0.7));
  const tail = graphemeSuffix(text, Math.floor(room * 0.3));
  return `${head}${marker}${tail}`;
}

/** The longest prefix of whole graphemes that has at most `maxChars` UTF-16 units. */
export function graphemePrefix(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  // Whether the cut is a boundary depends on the text before it and on the one character behind it.
  const cut = graphemes.segment(text.slice(0, maxChars + 2)).containing(maxChars);
  return text.slice(0, cut?.index ?? 0);
}

function graphemeSuffix(text: string, maxChars: number): string {
  if (maxChars < 1) return '';
  const start = text.length - maxChars;
  const cut = graphemes.segment(text).containing(start);
  return text.slice(cut === undefined || cut.index === start ? start : cut.index + cut.segment.length);
}

/**
 * Whether a text is empty or only white space by every definition: JavaScript, Python and Rust each count some control
 * characters as white space that the others do not.
 */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}]*$/u.test(text);
}

/** A number with its noun, for operators: `1 message`, `2 messages`, and with another plural `2 processes`. Pure. */
export function counted(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** A time in whole seconds, for operators. Pure. */
export function inSeconds(ms: number): string {
  return counted(Math.round(ms / 1000), 'second');
}

/** A tool's name as a person says it: `notebook: write` for `notebook__write`. Pure. */
export function toolLabel(name: string): string {
  const [server = '', ...tool] = name.split('__');
  return (tool.length === 0 ? server : `${server}: ${tool.join('__')}`).replaceAll('_', ' ');
}
