import type { Block } from '../model/block.ts';
import type { MessageParam } from '../model/port.ts';
import { repairLog } from '../model/rules/repair.ts';
import type { LogRecord } from './record.ts';
import { viewBehindPrefix } from './view-prefix.ts';
import { asWritten } from './written.ts';

/** What was loaded of a log: its opening record, and the newest records that fit. */
export interface Window {
  /** The compaction or the seed that stands for everything before. */
  head: LogRecord | undefined;
  /** Oldest first. */
  records: readonly LogRecord[];
  /** Records of the log that are neither here nor covered by the head. */
  omitted: number;
}

/**
 * The messages of a request, computed from a window. Pure and deterministic: the same window gives the same bytes, and
 * appending a record never changes an earlier message. The result starts with a user turn; the rules of the API see to
 * its blocks, roles and pairs, whatever the log holds. What an earlier view of these very records has computed is used
 * again, so that a turn takes as long as what is new in it.
 */
export function view(window: Window): MessageParam[] {
  return (viewBehindPrefix(window) ?? repairLog(asWritten(window))) as unknown as MessageParam[];
}

/** Where a block of a request comes from. */
export interface Origin {
  record: LogRecord;
  /** Index of the block in the record's content; absent when that is a plain text. */
  block?: number;
}

/** The view, and for each block of it that stands in the log, where. Pure. */
export function viewWithOrigins(window: Window): { messages: MessageParam[]; origins: ReadonlyMap<unknown, Origin> } {
  const written = new Map<Block, Origin>();
  const origins = new Map<unknown, Origin>();
  const messages = repairLog(asWritten(window, written), (block, came) => {
    const origin = written.get(came);
    if (origin !== undefined) origins.set(block, origin);
  });
  return { messages: messages as unknown as MessageParam[], origins };
}
