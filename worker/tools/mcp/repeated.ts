/** Beginnings of PNG, JPEG, GIF and WebP in base64, with enough after them to rule out a word. */
const PICTURE = /(?:iVBORw0KGgo|\\?\/9j\\?\/|R0lGOD|UklGR)[A-Za-z0-9+/\\]{200}/g;
/**
 * Bounded: a run of millions can exhaust the stack of a regular expression. The backslash is that of an escaped slash.
 */
const BASE64 = /[A-Za-z0-9+/=\\]{1,1000}/y;
/** How much is compared, in values times characters, before the rest counts as new. */
const COMPARED_MAX = 20_000_000;
const VALUES_MAX = 10_000;

/**
 * Whether structured content only repeats the content: each of its values appears there, in the texts, in JSON that a
 * text is, or as the data of a picture. Pure; takes any JSON, and is bounded in time.
 */
export function isSaid(structured: unknown, content: readonly unknown[]): boolean {
  const values = valuesOf([structured]);
  if (values === undefined || content.length === 0) return false;
  const texts = content.flatMap(textOf);
  const said = new Set([...(valuesOf(content) ?? []), ...texts.flatMap((text) => valuesOf([parsed(text)]) ?? [])]);
  const open = values.filter((value) => !said.has(value));
  const all = texts.join('\n');
  if (open.length * all.length > COMPARED_MAX) return false;
  return open.every((value) => all.includes(value) || all.includes(JSON.stringify(value).slice(1, -1)));
}

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

/** All plain values inside, as text; nothing when there are too many. Iterative: the input may be nested deeply. */
function valuesOf(roots: readonly unknown[]): readonly string[] | undefined {
  const values = new Set<string>();
  const rest = [...roots];
  for (let seen = 0; rest.length > 0; seen += 1) {
    if (seen > VALUES_MAX) return undefined;
    const next = rest.pop();
    if (typeof next !== 'object' || next === null) values.add(String(next));
    else for (const inner of Object.values(next)) rest.push(inner);
  }
  return [...values];
}

function textOf(item: unknown): string[] {
  if (typeof item !== 'object' || item === null || !('text' in item)) return [];
  return typeof item.text === 'string' ? [item.text] : [];
}

function parsed(text: string): unknown {
  if (!/^\s{0,100}[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
