import { ENTRY_NAME, findMessages, type MessageName, TRACE_NAME } from '../report/message-name.ts';
import type { ReportSource } from '../report/source.ts';
import { UsageError } from './terminal.ts';

/** Throws `UsageError` when a text cannot name a message. */
export function assertName(id: string, help: string): void {
  if (ENTRY_NAME.test(id) || TRACE_NAME.test(id)) return;
  throw new UsageError(id === '' ? help : `"${id}" is no id of a message.\n\n${help}`);
}

/** The one message that an operator named. Throws what to do where there is none, or where there are several. */
export async function namedMessage(source: ReportSource, id: string): Promise<MessageName> {
  const [name, ...others] = await findMessages(source, id);
  if (!name) throw unknownMessage(id);
  if (others.length === 0) return name;
  const all = [name, ...others].map(({ shard, entry }) => `${shard}/${entry}`).join(', ');
  throw new Error(`There are ${others.length + 1} messages ${id}: say which one, ${all}.`);
}

/** What is said about a message that is not known. */
export function unknownMessage(id: string): Error {
  return new Error(
    `Nothing is kept of a message ${id}. An id is an entry such as 1700000000000-0, a trace id of 32 hexadecimal digits, or the id of a dead letter; the ledger goes back as far as LEDGER_RETENTION_DAYS, 90 unless it is set.`,
  );
}
