/** Beginnings of PNG, JPEG, GIF and WebP in base64, with enough after them to rule out a word. */
const PICTURE = /(?:iVBORw0KGgo|\\?\/9j\\?\/|R0lGOD|UklGR)[A-Za-z0-9+/\\]{200}/g;
/**
 * Bounded: a run of millions can exhaust the stack of a regular expression. The backslash is that of an escaped slash.
 */
const BASE64 = /[A-Za-z0-9+/=\\]{1,1000}/y;

/** A text with each base64 picture replaced by words: as text it costs much and shows nothing. Pure, linear. */
export function withoutPictures(text: string): string {
  let shown = '';
  let from = 0;
  for (PICTURE.lastIndex = 0; ; ) {
    const found = PICTURE.exec(text);
    if (found === null) return shown + text.slice(from);
    const end = endOfBase64(text, PICTURE.lastIndex);
    shown += `${text.slice(from, found.index)}[a picture in base64, ${end - found.index} characters]`;
    from = end;
    PICTURE.lastIndex = end;
  }
}

function endOfBase64(text: string, from: number): number {
  let end = from;
  for (BASE64.lastIndex = end; BASE64.test(text); ) end = BASE64.lastIndex;
  return end;
}
