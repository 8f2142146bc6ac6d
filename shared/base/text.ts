const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Cuts a text to at most `maxChars` UTF-16 units, never inside a grapheme, and marks the cut with an ellipsis. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return maxChars < 1 ? '' : `${graphemePrefix(text, maxChars - 1)}…`;
}

/**
 * Cuts the middle out of a text, and puts a note with the length of the whole text there: at most `maxChars` UTF-16 units in
 * all. Never cuts inside a grapheme. If the note does not fit, the result is only the head.
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
  // The text before the cut and the one character behind it decide whether the cut is a boundary.
  const cut = graphemes.segment(text.slice(0, maxChars + 2)).containing(maxChars);
  return text.slice(0, cut?.index ?? 0);
}

function graphemeSuffix(text: string, maxChars: number): string {
  if (maxChars < 1) return '';
  const start = text.length - maxChars;
  const cut = graphemes.segment(text).containing(start);
  return text.slice(cut === undefined || cut.index === start ? start : cut.index + cut.segment.length);
}

/** Whether a text is empty or has only characters that JavaScript, Python or Rust count as white space. Pure. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}]*$/u.test(text);
}

const THOUSANDS = new Intl.NumberFormat('en-US');

/** A number with its noun, for operators: `1 message`, `2,000 messages`, and with another plural `2 processes`. Pure. */
export function counted(number: number, noun: string, plural = `${noun}s`): string {
  return `${THOUSANDS.format(number)} ${number === 1 ? noun : plural}`;
}

/** A duration for operators, rounded to seconds, or from two minutes, hours or days on to that unit. Pure. */
export function durationInWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return counted(seconds, 'second');
  if (seconds < 2 * 3600) return counted(Math.round(seconds / 60), 'minute');
  return seconds < 48 * 3600
    ? counted(Math.round(seconds / 3600), 'hour')
    : counted(Math.round(seconds / 86_400), 'day');
}

/** A tool's name for people: `notebook: write` for `notebook__write`. Pure. */
export function toolLabel(name: string): string {
  return name.replace('__', ': ').replaceAll('_', ' ');
}

/**
 * An emoji, which may contain joiners and variation selectors, or a run of one invisible character: controls, joiners, marks of
 * direction, variation selectors, fillers, the empty Braille pattern.
 */
const EMOJI_OR_INVISIBLE = /\p{RGI_Emoji}|([[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]--[\n\t]])\1*/gv;

/**
 * Replaces each invisible character of a text by its code, such as `⟨U+202E⟩`, or `⟨U+200B ×30⟩` for a run. Leaves line breaks,
 * tabs and emoji. Pure.
 */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(EMOJI_OR_INVISIBLE, (found, char?: string) => (char === undefined ? found : codeOf(char, found)));
}

/** Replaces each invisible character as `visible` does, a line break by `⏎`, and a tab by `⇥`. Pure. */
export function visibleInLine(text: string): string {
  return visible(text.replaceAll(/\r\n|\r|\n/g, '⏎').replaceAll('\t', '⇥'));
}

function codeOf(char: string, run: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const times = run.length / char.length;
  return times === 1 ? `⟨U+${code}⟩` : `⟨U+${code} ×${times}⟩`;
}
