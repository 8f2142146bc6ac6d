/** No more of an error than this is ever read, so a hostile body costs no time. */
export const MAX_TEXT_CHARS = 8_192;
/** An error says what is wrong in its first sentences; each is matched against every rule. */
const MAX_SENTENCES = 64;

/** The frame of a JSON error: its words ("invalid", "request", "message") are never the subject. */
const ENVELOPE_WORDS = /\\{0,4}["'](?:message|type)\\{0,4}["'] ?: ?/g;

/** The text in normalised form: lower case, no quotes and links, `snake_case` and `camelCase` split into words. */
export function plainText(text: string): string {
  return text
    .slice(0, MAX_TEXT_CHARS)
    .normalize('NFKC')
    .slice(0, MAX_TEXT_CHARS)
    .replace(/\\{1,4}u([0-9a-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\{1,4}[nrt]/g, '\n')
    .replace(ENVELOPE_WORDS, '\n')
    .replace(/https?:\/\/[^\s"'<>)]{1,300}/gi, ' ')
    .replace(/&gt;/g, '>')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[`'"\u2018\u2019\u201c\u201d\\*]/g, '')
    .replace(/(\d)_(?=\d)/g, '$1')
    .replace(/_|(?<=[A-Za-z])-(?=[A-Za-z])/g, ' ')
    .toLowerCase()
    .replace(/[^\S\n]+/g, ' ')
    .slice(0, MAX_TEXT_CHARS);
}

/** Sentences end at a full stop that a space follows: `messages.3.content.1` and `1.971s` are not split. */
export function sentencesOf(plain: string): string[] {
  return plain.split(/\n|(?<=[.!?]) |\u3002/, MAX_SENTENCES);
}
