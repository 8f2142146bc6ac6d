/**
 * Emoji, which may hold joiners and variation selectors, or a run of one character that a person does not see: controls,
 * joiners, marks of direction, variation selectors, fillers, the empty Braille pattern.
 */
const EMOJI_OR_UNSEEN = /\p{RGI_Emoji}|([[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]--[\n\t]])\1*/gv;

/**
 * Shows every character of a text that people cannot see by its code, such as `⟨U+202E⟩`, or `⟨U+200B ×30⟩` for a run. Keeps
 * line breaks, tabs and emoji. Pure.
 */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(EMOJI_OR_UNSEEN, (found, unseen?: string) => (unseen === undefined ? found : codeOf(unseen, found)));
}

/** The same on one line: a line break is shown as `⏎`, a tab as `⇥`. Pure. */
export function visibleInLine(text: string): string {
  return visible(text.replaceAll(/\r\n|\r|\n/g, '⏎').replaceAll('\t', '⇥'));
}

function codeOf(unseen: string, run: string): string {
  const code = (unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const times = run.length / unseen.length;
  return times === 1 ? `⟨U+${code}⟩` : `⟨U+${code} ×${times}⟩`;
}
