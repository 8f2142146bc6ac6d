import { setTimeout as pause } from 'node:timers/promises';
import {
  commandIn,
  type InboundMessage,
  mayBeComment,
  mayHavePieces,
  piecesOf,
  type Waiting,
} from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { turnOf } from '../../shared/state/turn/turn.ts';
import { type Attempt, ageMs, type Conclusion, isOfGuest } from '../lane/attempt.ts';
import type { Lane } from '../lane/lane.ts';
import type { Verdict } from '../lane/verdict.ts';

/** The ports of gathering. */
export interface GatherPorts {
  lane: Pick<Lane, 'behind'>;
  /** How long a text waits for messages that are forwarded with it. */
  commentWaitMs: number;
}

/** The further pieces of a message, or the decision to wait because more may come. */
export type Gathering = { kind: 'gathered'; pieces: readonly Waiting[] } | Verdict;

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
  const taken = attempt.turn.company.pieces;
  // A message that stands in its conversation without its forwards cannot take them any more.
  const isComment = mayBeComment(message) && !attempt.turn.isRecordedIn(attempt.session);
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
  const { turn } = attempt;
  if (turn.company.piecesSeen !== pieces.length) {
    await attempt.write('', [turn.company.seePieces(pieces.length)]);
    return { kind: 'later', delayMs: WAIT_MS, reason: 'gathering', isFree: true };
  }
  const turns = pieces.map(({ entry }) => turnOf(attempt.keys, entry));
  const taking = await attempt.write(
    'gathered',
    [
      turn.company.takePieces(pieces.map(({ entry }) => entry)),
      ...turns.map((piece) => piece.company.mergeInto(attempt.entry)),
    ],
    turns.map((piece) => piece.notCancelled()),
  );
  // One that was cancelled meanwhile is no piece of anything: the next attempt does not see it.
  if (taking === 'unmet') return { kind: 'hand back' };
  if (pieces.length === 0) return { kind: 'gathered', pieces };
  // A piece may have been edited until it was marked; from now on it cannot.
  const marked = new Set(pieces.map(({ entry }) => entry));
  return { kind: 'gathered', pieces: (await lane.behind(attempt.lane)).filter(({ entry }) => marked.has(entry)) };
}

/** Waits, or until the signal says that there is no time. */
export async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await pause(ms, undefined, { signal }).catch(() => undefined);
}

/** How a message ends that was merged into another one; undefined for any other. Its user is notified there. */
export function mergedConclusion(attempt: Attempt): Conclusion | undefined {
  const into = attempt.turn.company.mergedInto;
  if (into === undefined) return undefined;
  if (!attempt.turn.company.isFailedMerge) return { outcome: 'merged', into, parts: [] };
  return { outcome: 'failed', reason: 'merged', into, parts: [] };
}

/**
 * A message that fails is kept as a dead letter together with its pieces: replayed together, they are one message
 * again.
 */
export function failTogether(attempt: Attempt, decided: Verdict, pieces?: readonly Waiting[]): Verdict {
  if (decided.kind !== 'conclude' || decided.conclusion.outcome !== 'failed') return decided;
  const taken = pieces?.map(({ entry }) => entry) ?? attempt.turn.company.pieces ?? [];
  const marks = taken.map((entry) => turnOf(attempt.keys, entry).company.failMerge());
  return { ...decided, changes: [...decided.changes, ...marks] };
}

/**
 * The message behind this one that it is answered together with, where its chat wants that: the nearest one for the
 * model that is no piece of it. A chat that wants to be interrupted leaves a running turn as well; one that merges,
 * only a turn that has not begun to think. A recovery is never left: it decides about the conversation, not about one
 * message.
 */
export async function supersededBy(
  { lane }: Pick<GatherPorts, 'lane'>,
  attempt: Attempt,
): Promise<EntryId | undefined> {
  if (attempt.message.ok && attempt.message.value.content.kind === 'reminder') return undefined;
  const way = attempt.choice('busy');
  const isBegun = attempt.turn.isRecordedIn(attempt.session);
  const isOpen = way === 'interrupt' || (way === 'merge' && !isBegun);
  if (!isOpen || attempt.stage !== 'none' || attempt.trial !== undefined || attempt.isBlamed) return undefined;
  const behind = await lane.behind(attempt.lane);
  const next = behind.find(({ message, isTaken }) => isForModel(message) && !isTaken);
  // What a guest asks is never done with the tools of others, nor what others ask without them.
  return (next?.message.from.isGuest === true) === isOfGuest(attempt) ? next?.entry : undefined;
}

/** Whether the chat wants a new message to cut the running turn short. */
export function isInterruptible(attempt: Attempt): boolean {
  return attempt.choice('busy') === 'interrupt';
}

/** A reminder is answered by itself: nobody has written it, and what it says must not be lost in another answer. */
function isForModel(message: InboundMessage): boolean {
  const { kind } = message.content;
  return kind !== 'unsupported' && kind !== 'reminder' && commandIn(message) === undefined;
}
