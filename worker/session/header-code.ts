import type { Block } from '../model/block.ts';
import type { LogRecord, UserRecord } from './record.ts';

const CODE = /^\[(#[\w-]{6}) /;
const REPEATED = /\[#[\w-]{6} /g;

/** The code that the gateway's lines of a record carry, if it has any. Pure. */
export function codeOf(record: LogRecord): string | undefined {
  return record.t === 'user' ? CODE.exec(record.header ?? '')?.[1] : undefined;
}

/** The gateway's own line, with a name in which no quotation mark can stand; what it quotes begins each line with >. */
const WRITER = /^\[#[\w-]{6} [^"\n]*"[^"\n]*" \(id (-?\d{1,20})\) writes/m;

/** A person's name with the id beside it, where the header of their message states one: a name is its owner's choice. Pure. */
export function withId(name: string, { header = '' }: UserRecord): string {
  const id = WRITER.exec(header)?.[1];
  return id === undefined ? name : `${name} (id ${id})`;
}

/** A record whose lines by the gateway carry another code; its words stay as they are. Pure. */
export function withCode(record: UserRecord, code: string): UserRecord {
  return withOpening(record, `[${code} `);
}

/** A record as people may see it: a code is for the model alone, also where the model repeats one. Pure. */
export function withoutCode<R extends LogRecord>(record: R): R {
  if (record.t === 'user') return withOpening(record, '[') as LogRecord as R;
  if (record.t !== 'assistant') return record;
  return { ...record, content: withTexts(record.content, (text) => text.replace(REPEATED, '[')) };
}

/** The gateway's lines of a record with another opening. A block that begins with the code is one: no text can hold it. */
function withOpening(record: UserRecord, opening: string): UserRecord {
  const own = codeOf(record);
  if (own === undefined) return record;
  const before = `[${own} `;
  const content = withTexts(record.content, (text) =>
    text.startsWith(before) ? opening + text.slice(before.length) : text,
  );
  return { ...record, header: record.header?.replaceAll(before, opening) ?? '', content };
}

function withTexts(content: UserRecord['content'], change: (text: string) => string): UserRecord['content'] {
  if (typeof content === 'string') return change(content);
  return content.map((block: Block) =>
    typeof block.text === 'string' ? { ...block, text: change(block.text) } : block,
  );
}
