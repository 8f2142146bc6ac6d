import type { Change } from '../../shared/state/change.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import { TRIMMED_HISTORY_BYTES_MAX } from '../model/block.ts';
import { bindsThinking } from '../model/catalog.ts';
import { isThinking } from '../model/rules/blocks.ts';
import { removedNotice } from '../reply/notices.ts';
import { asShown, scrubOf, trimOf } from '../session/overlay.ts';
import type { LogRecord, TrimRecord } from '../session/record.ts';
import { append } from '../session/store.ts';
import { viewWithOrigins } from '../session/view.ts';
import { changesOfStep, type FailedCall } from './effects.ts';
import { bytesOf, largestParts, mediaParts, newestResults, type Part } from './parts.ts';
import type { LeftOut } from './state.ts';

/**
 * Omits parts or thinking from all later requests of the session, and lets the message run again. The log keeps the
 * originals, and the tool `recall` shows omitted pictures and files. A notice lists the omitted parts, but not thinking.
 * Returns `undefined` if there is nothing of the kind to omit.
 */
export async function leaveOut(call: FailedCall, what: LeftOut): Promise<Verdict | undefined> {
  if (what === 'thinking') return leaveOutThinking(call);
  const parts = partsToLeaveOut(call, what);
  if (parts.length === 0) return undefined;
  const notice = removedNotice(call.turn.texts, parts);
  await storeParts(call, parts, [storeNotice(call.turn, notice), ...changesOfStep(call, what)], 'scrub');
  return { kind: 'again' };
}

function partsToLeaveOut(call: FailedCall, what: Exclude<LeftOut, 'thinking'>): Part[] {
  const records = asShown(call.loadedSession.window.records);
  const newest = records.findLast(({ t }) => t === 'user');
  switch (what) {
    case 'named media':
      return mediaParts(records).filter((part) => isNamed(part, call));
    case 'newest media':
      return newest ? mediaParts([newest]) : [];
    case 'all media':
      return mediaParts(records);
    case 'results':
      return newestResults(records);
    case 'largest parts': {
      // At least halve the refused request, because the endpoint's own limit is unknown.
      const bytes = bytesOf(records);
      return largestParts(records, bytes - Math.min(TRIMMED_HISTORY_BYTES_MAX, bytes / 2));
    }
  }
}

/** Whether the error names this part by its path in the request. */
function isNamed(part: Part, { loadedSession, failure: { path } }: FailedCall): boolean {
  if (path?.block === undefined) return false;
  const { messages, origins } = viewWithOrigins(loadedSession.window);
  const content = messages[path.message]?.content;
  const origin = Array.isArray(content) ? origins.get(content[path.block]) : undefined;
  return origin !== undefined && origin.record.id === part.record.id && origin.block === part.block;
}

/** The change that stores the notice. On trial, only an answer shows the notice, as a lost trial discards the omissions. */
function storeNotice(turn: Turn, notice: string): Change {
  const { trial, readingNotices, notices } = turn;
  return trial ? turn.notifyReading([...readingNotices, notice]) : turn.notify([...notices, notice]);
}

/** Omits all thinking so far, because the text to which the thinking is bound may have changed without our knowledge. */
async function leaveOutThinking(call: FailedCall): Promise<Verdict | undefined> {
  const { turn, failure } = call;
  const { env } = turn;
  const { records } = call.loadedSession.window;
  if (failure.reason === 'thinking_signature') env.boundModels.add(env.settings.MODEL);
  const hasThinking = asShown(records).some(
    (record) => record.t === 'assistant' && typeof record.content !== 'string' && record.content.some(isThinking),
  );
  if (!hasThinking) return undefined;
  await commit(turn, {
    step: `recover:${turn.recoveries}`,
    changes: [...append(turn.keys, turn.session, [trimOf('thinking', records)]), ...changesOfStep(call, 'thinking')],
    events: [{ event: 'context.thinking-dropped', reason: failure.reason }],
  });
  return { kind: 'again' };
}

/**
 * Stores the replacements of parts, with the effects of the step. Each replacement refers to the part's record or message,
 * so that no later load shows the part again. Contract: throws `FencedError`, or what Redis throws.
 */
export async function storeParts(
  { turn, loadedSession, failure }: FailedCall,
  parts: readonly Part[],
  effects: readonly Change[],
  action: 'scrub' | 'shorten',
): Promise<void> {
  const records: LogRecord[] = [...parts.map(scrubOf), ...thinkingTrim(turn.env, loadedSession.window.records)];
  const bytes = parts.reduce((sum, each) => sum + each.bytes, 0);
  await commit(turn, {
    step: `recover:${turn.recoveries}`,
    changes: [...append(turn.keys, turn.session, records), ...effects],
    events: [{ event: 'context.scrubbed', action, kind: failure.kind, parts: parts.length, bytes }],
  });
}

/** A record that omits all thinking, for a write that changes earlier text; none if the model does not bind its thinking. */
export function thinkingTrim({ settings: { MODEL }, boundModels }: Env, records: readonly LogRecord[]): TrimRecord[] {
  return bindsThinking(MODEL) || boundModels.has(MODEL) ? [trimOf('thinking', records)] : [];
}
