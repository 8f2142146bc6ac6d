const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Shortens a text of more than `maxChars` UTF-16 units to at most `maxChars`, with an ellipsis. Keeps graphemes whole. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : `${graphemePrefix(text, maxChars - 1)}…`;
}

/**
 * Shortens a text that is longer than `maxChars` UTF-16 units to at most this length. Replaces its middle with a note that
 * states the length of the whole text. Never cuts inside a grapheme. If the note does not fit, cuts off the end instead.
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
  // Only the text before the cut and the one character after the cut decide whether the cut is a grapheme boundary.
  const cut = graphemes.segment(text.slice(0, maxChars + 2)).containing(maxChars);
  return text.slice(0, cut?.index ?? 0);
}

function graphemeSuffix(text: string, maxChars: number): string {
  if (maxChars < 1) return '';
  const start = text.length - maxChars;
  const cut = graphemes.segment(text).containing(start);
  return text.slice(cut === undefined || cut.index === start ? start : cut.index + cut.segment.length);
}

/** Whether all characters of a text are control characters, or white space in JavaScript, Python or Rust. Pure. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}]*$/u.test(text);
}

const THOUSANDS = new Intl.NumberFormat('en-US');

/** A number with thousands separators: `84,000`. Pure. */
export function thousands(number: number): string {
  return THOUSANDS.format(number);
}

/** A number with its noun, for operators: `1 message`, `2,000 messages`, or with the given plural `2 processes`. Pure. */
export function counted(number: number, noun: string, plural = `${noun}s`): string {
  return `${thousands(number)} ${number === 1 ? noun : plural}`;
}

/** A rounded duration: in seconds below 2 minutes, in minutes below 2 hours, in hours below 2 days, else in days. Pure. */
export function durationOf(ms: number): { count: number; unit: 'second' | 'minute' | 'hour' | 'day' } {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return { count: seconds, unit: 'second' };
  if (seconds < 2 * 3600) return { count: Math.round(seconds / 60), unit: 'minute' };
  if (seconds < 48 * 3600) return { count: Math.round(seconds / 3600), unit: 'hour' };
  return { count: Math.round(seconds / 86_400), unit: 'day' };
}

/** A rounded duration in words: `5 minutes`. Pure. */
export function durationInWords(ms: number): string {
  const { count, unit } = durationOf(ms);
  return counted(count, unit);
}

/** A tool's name for people: `notebook: write` for `notebook__write`. Pure. */
export function toolLabel(name: string): string {
  return name.replace('__', ': ').replaceAll('_', ' ');
}

/**
 * An emoji, which may contain joiners and variation selectors, or a run of one invisible character: a control, a joiner, a mark
 * of direction, a variation selector, a filler or the empty Braille pattern.
 */
const EMOJI_OR_INVISIBLE = /\p{RGI_Emoji}|([[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]--[\n\t]])\1*/gv;

/**
 * Replaces each invisible character of a text with its code, such as `⟨U+202E⟩`, or `⟨U+200B ×30⟩` for a run. Keeps emoji, tabs
 * and line feeds; each `\r\n` becomes a line feed. Pure.
 */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(EMOJI_OR_INVISIBLE, (found, char?: string) => (char === undefined ? found : codeOf(char, found)));
}

/** Replaces each invisible character as `visible` does, a line break with `⏎`, and a tab with `⇥`. Pure. */
export function visibleInLine(text: string): string {
  return visible(text.replaceAll(/\r\n|\r|\n/g, '⏎').replaceAll('\t', '⇥'));
}

function codeOf(char: string, run: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const times = run.length / char.length;
  return times === 1 ? `⟨U+${code}⟩` : `⟨U+${code} ×${times}⟩`;
}
