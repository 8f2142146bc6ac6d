import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { labelWithRef } from '../media/label.ts';
import type { Block } from '../model/block.ts';
import { imagesMax } from '../model/rules/media.ts';
import type { RecoverPorts } from '../recovery/effects.ts';
import { thinkingTrim } from '../recovery/leave-out.ts';
import { bytesOf } from '../recovery/parts.ts';
import { type OpenedSession, withRecord } from '../session/held-window.ts';
import { asShown, scrubOf } from '../session/overlay.ts';
import type { LogRecord, UserRecord } from '../session/record.ts';
import { append } from '../session/store.ts';

/** A block of the log that holds pictures: one itself, or what a tool returned. */
interface Holder {
  record: UserRecord;
  block: number;
  pictures: number;
  bytes: number;
  /** Its replacement: all of its words, and the names of its pictures. */
  instead: string;
  name: string;
}

/** The share of the most pictures that stays: the rest is room for a batch, so that a prefix is seldom rewritten. */
const LEFT_SHARE = 0.8;

/**
 * The session before a call, with at most as many pictures as the model takes. What is too much is left out for good, the
 * oldest first and many at once: left out of the request alone, the oldest would go one by one, and each would change the
 * beginning of the conversation. Contract: throws `FencedError`, or what Redis throws.
 */
export async function leaveOutOldPictures(
  ports: Pick<RecoverPorts, 'settings' | 'endpoint' | 'observability'>,
  attempt: Attempt,
  opened: OpenedSession,
  windowTokens: number,
): Promise<OpenedSession> {
  const { records } = opened.window;
  const most = imagesMax(windowTokens);
  const left = oldestPictures(asShown(records), most);
  if (left.length === 0) return opened;
  const changes: LogRecord[] = [...left.map(scrubOf), ...thinkingTrim(ports, records)];
  const bytes = left.reduce((sum, each) => sum + each.bytes, 0);
  await commit(ports.observability, attempt, {
    step: '',
    changes: append(attempt.keys, attempt.session, changes),
    events: [{ event: 'context.scrubbed', action: 'scrub', kind: 'pictures', parts: left.length, bytes }],
  });
  return changes.reduce(withRecord, opened);
}

/** The oldest pictures that have to go so that a batch more fits; none where all fit. Pure. */
export function oldestPictures(shown: readonly LogRecord[], most: number): Holder[] {
  const holders = shown.flatMap(holdersIn);
  let excess = holders.reduce((sum, { pictures }) => sum + pictures, 0);
  if (excess <= most) return [];
  excess -= Math.floor(most * LEFT_SHARE);
  const left: Holder[] = [];
  for (const holder of holders) {
    if (excess <= 0) break;
    left.push(holder);
    excess -= holder.pictures;
  }
  return left;
}

function holdersIn(record: LogRecord): Holder[] {
  if (record.t !== 'user' || typeof record.content === 'string') return [];
  return record.content.flatMap((block, at) => {
    const inside = block.type === 'tool_result' && Array.isArray(block.content) ? (block.content as Block[]) : [block];
    const pictures = inside.filter(isPicture).length;
    if (pictures === 0) return [];
    const instead = inside.map(inWords).join('\n');
    return [{ record, block: at, pictures, bytes: bytesOf([{ ...record, content: [block] }]), instead, name: '' }];
  });
}

function isPicture(block: Block | null): boolean {
  return block?.type === 'image';
}

function inWords(block: Block): string {
  return block.type === 'text' ? String(block.text) : `[${labelWithRef(block)}]`;
}
