/** A file of a reply: it is sent in its place, like a message. Plain JSON, stored with the conclusion. */
export interface FilePart {
  readonly path: 'file';
  readonly name: string;
  /** What it holds, for a text; otherwise `sha256` names its bytes among the kept ones. */
  readonly text?: string;
  readonly sha256?: string;
}

/** Where an answer takes more than about three messages, people want to keep or search it as one piece. */
const LONG_ANSWER_CHARS = 12_000;

/** A long answer once more as a file, as the model wrote it; undefined for a shorter one. */
export function answerFile(markdown: string): FilePart | undefined {
  if (markdown.length <= LONG_ANSWER_CHARS) return undefined;
  return { path: 'file', name: 'answer.md', text: markdown.toWellFormed() };
}
