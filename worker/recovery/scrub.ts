import type { Change } from '../../shared/state/change.ts';
import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { TRIMMED_HISTORY_BYTES_MAX } from '../model/block.ts';
import { bindsThinking } from '../model/catalog.ts';
import { isThinking } from '../model/rules/blocks.ts';
import { removedNotice } from '../reply/notices.ts';
import { asShown, scrubOf, trimOf } from '../session/overlay.ts';
import type { LogRecord, TrimRecord } from '../session/record.ts';
import { append } from '../session/store.ts';
import { viewWithOrigins } from '../session/view.ts';
import type { Overflow, RecoverPorts, Recovery } from './effects.ts';
import { bytesOf, isMedia, largePartsOfTurn, largestParts, mediaParts, type Part, resultsOfTurn } from './oversized.ts';

const KEPT_CHARS_MAX = 2_000;
const KEPT_CHARS_MIN = 200;
/** No script takes much more than one token a character, so a part takes at most a fifth of the window. */
const KEPT_CHARS_PER_TOKEN = 0.2;

/**
 * Shows only heads and tails of a message that is too large by itself, and of its tool results. The smaller the window,
 * the less is shown.
 */
export async function scrubMessage(ports: RecoverPorts, overflow: Overflow, limitTokens: number): Promise<Recovery> {
  const { attempt, opened } = overflow;
  const keptChars = Math.max(KEPT_CHARS_MIN, Math.min(KEPT_CHARS_MAX, Math.floor(limitTokens * KEPT_CHARS_PER_TOKEN)));
  const left = largePartsOfTurn(asShown(opened.window.records), keptChars);
  const omitted = left.filter(isMedia).map(({ name }) => name);
  const read = [
    ...(left.length > omitted.length ? [attempt.texts.scrubbed] : []),
    ...(omitted.length > 0 ? [removedNotice(attempt.texts, omitted)] : []),
  ];
  const told = attempt.turn.notifyReading([...attempt.readingNotices, ...read]);
  await storeScrubs(ports, overflow, left, [told, ...attempt.turn.enter('scrubbed')]);
  return { kind: 'again' };
}

/**
 * Removes the largest parts, the newest message's first. The provider's own limit is unknown: a refused request is at
 * least halved. `false` when nothing in it is large.
 */
export async function scrubLargest(ports: RecoverPorts, overflow: Overflow): Promise<Recovery | false> {
  const records = asShown(overflow.opened.window.records);
  const bytes = bytesOf(records);
  const left = largestParts(records, bytes - Math.min(TRIMMED_HISTORY_BYTES_MAX, bytes / 2));
  return left.length > 0 && storeOwn(ports, overflow, left);
}

/**
 * Removes the picture or the file that the error names; all of them when it names none, or a second one. `false` when
 * there is none.
 */
export async function scrubMedia(ports: RecoverPorts, overflow: Overflow): Promise<Recovery | false> {
  const media = mediaParts(asShown(overflow.opened.window.records));
  const isSecond = overflow.attempt.turn.tried.includes('media');
  const named = isSecond ? [] : media.filter((part) => isNamed(part, overflow));
  const left = named.length > 0 ? named : media;
  return left.length > 0 && storeOwn(ports, overflow, left);
}

/** Omits all thinking so far: what it is bound to may have changed in a way that we do not see. `false` without any. */
export async function dropThinking(
  ports: RecoverPorts,
  { attempt, opened, failure }: Overflow,
): Promise<Recovery | false> {
  const { records } = opened.window;
  const thinks = asShown(records).some(
    (record) => record.t === 'assistant' && typeof record.content !== 'string' && record.content.some(isThinking),
  );
  if (failure.reason === 'thinking_signature') ports.endpoint.boundModels.add(ports.settings.modelName);
  if (!thinks) return false;
  await commit(ports.observability, attempt, {
    step: `recover:${attempt.recoveries}`,
    changes: [
      ...append(attempt.keys, attempt.session, [trimOf('thinking', records)]),
      ...attempt.turn.enter(attempt.stage),
      attempt.turn.noteTried(failure.kind),
    ],
    events: [{ event: 'context.thinking-dropped', reason: failure.reason }],
  });
  return { kind: 'again' };
}

/**
 * Removes the tool results in the middle of a message's turn, once: they came from outside, and are more often to blame
 * than what people wrote. The calls stay, so none is made again. `false` when there is nothing to remove, or it did not
 * help.
 */
export async function scrubResults(ports: RecoverPorts, overflow: Overflow): Promise<Recovery | false> {
  const { attempt, opened, failure } = overflow;
  if (attempt.rounds === 0 || attempt.turn.tried.includes(failure.kind)) return false;
  const results = resultsOfTurn(asShown(opened.window.records));
  return results.length > 0 && storeOwn(ports, overflow, results);
}

async function storeOwn(ports: RecoverPorts, overflow: Overflow, left: readonly Part[]): Promise<Recovery> {
  const { attempt, failure } = overflow;
  const notice = removedNotice(
    attempt.texts,
    left.map(({ name }) => name),
  );
  await storeScrubs(ports, overflow, left, [
    tellRemoved(attempt, notice),
    ...attempt.turn.enter(attempt.stage),
    attempt.turn.noteTried(failure.kind),
  ]);
  return { kind: 'again' };
}

/** A part removed from a session on trial is in no conversation any more if the trial is lost. */
function tellRemoved(attempt: Attempt, notice: string): Change {
  if (attempt.trial) return attempt.turn.notifyReading([...attempt.readingNotices, notice]);
  return attempt.turn.notify([...attempt.notices, notice]);
}

/**
 * Stores what is shown of parts from now on, with its effects, as one step of a recovery. Each scrub is kept under the
 * message's own id, so no later load shows the part again. Contract: throws `FencedError`, or what Redis throws.
 */
export async function storeScrubs(
  ports: RecoverPorts,
  { attempt, opened, failure }: Overflow,
  left: readonly Part[],
  effects: readonly Change[],
  action: 'scrub' | 'shorten' = 'scrub',
): Promise<void> {
  const scrubs = left.map(scrubOf);
  const records = [...scrubs, ...thinkingTrim(ports, opened.window.records)];
  const bytes = left.reduce((sum, each) => sum + each.bytes, 0);
  await commit(ports.observability, attempt, {
    step: `recover:${attempt.recoveries}`,
    changes: [...(records.length > 0 ? append(attempt.keys, attempt.session, records) : []), ...effects],
    events: [{ event: 'context.scrubbed', action, kind: failure.kind, parts: left.length, bytes }],
  });
}

/** Whether the error's path names the part. */
function isNamed(part: Part, { opened, failure: { path } }: Overflow): boolean {
  if (path?.block === undefined) return false;
  const { messages, origins } = viewWithOrigins(opened.window);
  const content = messages[path.message]?.content;
  const origin = Array.isArray(content) ? origins.get(content[path.block]) : undefined;
  return origin !== undefined && origin.record.id === part.record.id && origin.block === part.block;
}

/** Omits the thinking when an earlier part changes, where the model binds its thinking to that part. */
export function thinkingTrim(
  { settings: { modelName }, endpoint: { boundModels } }: Pick<RecoverPorts, 'settings' | 'endpoint'>,
  records: readonly LogRecord[],
): TrimRecord[] {
  return bindsThinking(modelName) || boundModels.has(modelName) ? [trimOf('thinking', records)] : [];
}
