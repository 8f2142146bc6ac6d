import type { Block } from '../model/block.ts';
import type { LogRecord, UserRecord } from './record.ts';

const CODE = /^\[(#[\w-]{6}) /;
const REPEATED = /\[#[\w-]{6} /g;

/** The code in the lines that the gateway added to a user's record; `undefined` without such lines. Pure. */
export function codeOf(record: LogRecord): string | undefined {
  return record.t === 'user' ? CODE.exec(record.header ?? '')?.[1] : undefined;
}

/** The header's line about the author. No other line matches: a name has no quotation mark, and quoted lines begin with `>`. */
const WRITER = /^\[#[\w-]{6} [^"\n]*"[^"\n]*" \(id (-?\d{1,20})\) writes/m;

/** A person's name with the id from their message's header, if any, since people choose their names freely. Pure. */
export function withId(name: string, { header = '' }: UserRecord): string {
  const id = WRITER.exec(header)?.[1];
  return id === undefined ? name : `${name} (id ${id})`;
}

/** The record with another code in the lines that the gateway added, if any. Pure. */
export function withCode(record: UserRecord, code: string): UserRecord {
  return withOpening(record, `[${code} `);
}

/** The record for people: without the code in the gateway's lines, and without codes that the model repeated. Pure. */
export function withoutCode<R extends LogRecord>(record: R): R {
  if (record.t === 'user') return withOpening(record, '[') as LogRecord as R;
  if (record.t !== 'assistant') return record;
  return { ...record, content: withTexts(record.content, (text) => text.replace(REPEATED, '[')) };
}

/** Replaces the opening of the gateway's lines. A block with the code is such a line, since no user can guess the code. */
function withOpening(record: UserRecord, opening: string): UserRecord {
  const code = codeOf(record);
  if (code === undefined) return record;
  const oldOpening = `[${code} `;
  const content = withTexts(record.content, (text) =>
    text.startsWith(oldOpening) ? opening + text.slice(oldOpening.length) : text,
  );
  return { ...record, header: record.header?.replaceAll(oldOpening, opening) ?? '', content };
}

function withTexts(content: UserRecord['content'], change: (text: string) => string): UserRecord['content'] {
  if (typeof content === 'string') return change(content);
  return content.map((block: Block) =>
    typeof block.text === 'string' ? { ...block, text: change(block.text) } : block,
  );
}
