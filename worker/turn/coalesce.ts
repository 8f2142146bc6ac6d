import { setTimeout as pause } from 'node:timers/promises';
import { mayBeComment, mayHavePieces, piecesOf, type Waiting } from '../../shared/flow/fragments.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { type Attempt, ageMs, CANCELLED, type Conclusion, MERGED_INTO } from '../lane/attempt.ts';
import type { Lane } from '../lane/lane.ts';
import type { Decision } from '../lane/verdict.ts';
import { userStep } from '../session/store.ts';

/** What gathering works with. */
export interface GatherPorts {
  lane: Pick<Lane, 'behind'>;
  /** How long a text waits for messages that are forwarded with it. */
  commentWaitMs: number;
}

/** The further pieces of a message, or the decision to wait because more may come. */
export type Gathering = { kind: 'gathered'; pieces: readonly Waiting[] } | { kind: 'decided'; decision: Decision };

/** The field of a piece's turn that says that the message into which it was merged failed. */
const FAILED = 'mergedFailed';
/** The fields of the turn of a message with pieces: how many it saw when it waited, and the entries that it took. */
const SEEN = 'piecesSeen';
const TAKEN = 'pieces';
/** Nothing marks the last piece, so wait until no more arrive. */
const WAIT_MS = 1_000;

/**
 * Takes the further pieces of a message (an album, a pasted text that Telegram split, messages that were forwarded
 * together or with a comment) out of its lane; each of them is then settled as merged in its turn. The list of pieces
 * is stored in one step with the mark on each, so all later attempts take the same ones. A piece that comes too late is
 * a message of its own.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function gather(
  { lane, commentWaitMs }: GatherPorts,
  attempt: Attempt,
  message: InboundMessage,
  signal: AbortSignal,
): Promise<Gathering> {
  const taken = entriesTaken(attempt);
  const isComment = mayBeComment(message) && !isRecorded(attempt);
  if (taken === undefined && !isComment && !mayHavePieces(message)) return { kind: 'gathered', pieces: [] };
  if (taken === undefined && isComment) {
    // Nothing came with it in time, as a message that is old enough showed when it began.
    // Ages are known to the millisecond: that of a new message may come out below zero.
    const ageAtBeginMs = Math.max(0, ageMs(attempt) - attempt.elapsedMs());
    if (attempt.isAloneAtBegin && ageAtBeginMs >= commentWaitMs) return { kind: 'gathered', pieces: [] };
    await waitFor(commentWaitMs - ageMs(attempt), signal);
  }
  const behind = await lane.behind(attempt.lane);
  if (taken !== undefined) return { kind: 'gathered', pieces: behind.filter(({ entry }) => taken.includes(entry)) };
  const pieces = piecesOf(message, behind);
  // Most texts are no comment, and are not held up.
  if (isComment && pieces.length === 0) return { kind: 'gathered', pieces };
  const turn = attempt.keys.turn(attempt.entry);
  if (attempt.field(SEEN) !== String(pieces.length)) {
    await attempt.write('', [['HSET', turn, SEEN, pieces.length]]);
    return { kind: 'decided', decision: { kind: 'later', delayMs: WAIT_MS, reason: 'gathering', isFree: true } };
  }
  const taking = await attempt.write(
    'gathered',
    [
      ['HSET', turn, TAKEN, JSON.stringify(pieces.map(({ entry }) => entry))],
      ...pieces.map(({ entry }) => ['HSET', attempt.keys.turn(entry), MERGED_INTO, attempt.entry] as const),
    ],
    pieces.map(({ entry }) => [attempt.keys.turn(entry), CANCELLED, ''] as const),
  );
  // One that was cancelled meanwhile is no piece of anything: the next attempt does not see it.
  if (taking === 'unmet') return { kind: 'decided', decision: { kind: 'hand back' } };
  if (pieces.length === 0) return { kind: 'gathered', pieces };
  // A piece may have been edited until it was marked; from now on it cannot.
  const marked = new Set(pieces.map(({ entry }) => entry));
  return { kind: 'gathered', pieces: (await lane.behind(attempt.lane)).filter(({ entry }) => marked.has(entry)) };
}

/** A message that stands in its conversation without its forwards cannot take them any more. */
function isRecorded({ field, session }: Attempt): boolean {
  return field(`did:${userStep(session)}`) !== undefined;
}

/** Waits, or until the signal says that there is no time. */
export async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await pause(ms, undefined, { signal }).catch(() => undefined);
}

/** How a message ends that was merged into another one; undefined for any other. Its user is notified there. */
export function mergedConclusion(attempt: Attempt): Conclusion | undefined {
  const into = attempt.field(MERGED_INTO) as EntryId | undefined;
  if (into === undefined) return undefined;
  if (attempt.field(FAILED) === undefined) return { outcome: 'merged', into, parts: [] };
  return { outcome: 'failed', reason: 'merged', into, parts: [] };
}

/**
 * A message that fails is kept as a dead letter together with its pieces: replayed together, they are one message
 * again.
 */
export function failTogether(attempt: Attempt, decided: Decision, pieces?: readonly Waiting[]): Decision {
  if (decided.kind !== 'conclude' || decided.conclusion.outcome !== 'failed') return decided;
  const taken = pieces?.map(({ entry }) => entry) ?? entriesTaken(attempt) ?? [];
  const marks = taken.map((entry) => ['HSET', attempt.keys.turn(entry), FAILED, 1] as const);
  return { ...decided, commands: [...decided.commands, ...marks] };
}

function entriesTaken(attempt: Attempt): EntryId[] | undefined {
  const stored = attempt.field(TAKEN);
  return stored === undefined ? undefined : (JSON.parse(stored) as EntryId[]);
}
