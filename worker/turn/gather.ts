import {
  commandIn,
  type InboundMessage,
  isSelfEntered,
  mayBeComment,
  mayHavePieces,
  piecesOf,
  type Waiting,
} from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { type Conclusion, turnOf } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { TurnTime } from './deadline.ts';

/** The further pieces of a message, or the verdict that ends the attempt, e.g. because more may come. */
type Gathering = { kind: 'gathered'; pieces: readonly Waiting[] } | Verdict;

/**
 * Takes the further pieces of a message out of its lane: those of an album or of a text that Telegram split, messages
 * that were forwarded together or with a comment, and behind a late reminder the reminders that wait. Each piece is
 * settled as merged in its own turn. One step stores the list of pieces and the mark on each, so that all later
 * attempts take the same ones. A plain text does not wait: if forwards that were sent with it arrive while the model
 * answers, that call is aborted and the text is answered together with them (`findLaterMessageToJoin`).
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function gather(turn: Turn<Env>, message: InboundMessage): Promise<Gathering> {
  const { lane, selfEntered } = turn.env;
  const handler = selfEntered.get(turn.kind);
  const takesReminders = handler?.takesOthers(turn) === true;
  const stored = turn.merge.pieces;
  // A message that is recorded in its conversation without its forwards cannot take them any more.
  const mayHaveForwards = !turn.isAloneAtBegin && !turn.isRecordedIn(turn.session);
  const needsNoPieces = mayHaveForwards && (mayBeComment(message) || takesReminders);
  if (stored === undefined && !needsNoPieces && !mayHavePieces(message)) return { kind: 'gathered', pieces: [] };
  const behind = await lane.behind(turn.lane);
  if (stored !== undefined) return { kind: 'gathered', pieces: behind.filter(({ entry }) => stored.includes(entry)) };
  const pieces = piecesOf(message, behind);
  // Most texts are no comment on forwards: they do not wait.
  if (needsNoPieces && pieces.length === 0) return { kind: 'gathered', pieces };
  if (turn.merge.piecesSeen !== pieces.length) {
    await turn.write('', [turn.merge.notePieceCount(pieces.length)]);
    return { kind: 'later', delayMs: turn.env.settings.GATHER_WAIT_MS, reason: 'gathering', isUncounted: true };
  }
  const turns = pieces.map(({ entry }) => turnOf(turn.keys, entry));
  const taking = await turn.write(
    'gathered',
    [
      turn.merge.takePieces(pieces.map(({ entry }) => entry)),
      ...(handler?.storeMerged(turn, pieces) ?? []),
      ...turns.map((piece) => piece.merge.mergeInto(turn.entry)),
    ],
    turns.map((piece) => piece.expectNotCancelled()),
  );
  // A piece was cancelled meanwhile: the next attempt does not see it.
  if (taking === 'unmet') return { kind: 'hand back' };
  if (pieces.length === 0) return { kind: 'gathered', pieces };
  // The notice of the next attempt lists the times of all of them.
  if (takesReminders) return { kind: 'hand back' };
  // A piece may have been edited until it was marked; from now on it cannot.
  const marked = new Set(pieces.map(({ entry }) => entry));
  return { kind: 'gathered', pieces: (await lane.behind(turn.lane)).filter(({ entry }) => marked.has(entry)) };
}

/** How a message ends that was merged into another one; undefined for any other. Its user is notified there. */
export function mergedConclusion(turn: Turn): Conclusion | undefined {
  const into = turn.merge.mergedInto;
  if (into === undefined) return undefined;
  if (!turn.merge.isFailedMerge) return { outcome: 'merged', into, parts: [] };
  return { outcome: 'failed', reason: 'merged', into, parts: [] };
}

/** Fails the pieces of a failed message, too. Replayed together from their dead letters, they are one message again. */
export function failWithPieces(turn: Turn, decided: Verdict, pieces?: readonly Waiting[]): Verdict {
  if (decided.kind !== 'conclude' || decided.conclusion.outcome !== 'failed') return decided;
  const taken = pieces?.map(({ entry }) => entry) ?? turn.merge.pieces ?? [];
  const marks = taken.map((entry) => turnOf(turn.keys, entry).merge.failMerge());
  return { ...decided, changes: [...decided.changes, ...marks] };
}

/**
 * The later message to answer this one together with: the nearest one for the model that is no piece of another. With
 * the setting `busy`, `interrupt`: it always stops this turn; `merge`: only before the model is asked. In any chat,
 * forwards that were sent with this text stop its turn until the chat has seen part of the answer. Nothing stops a
 * recovery, a trial, or a turn that has asked a person.
 */
export async function findLaterMessageToJoin(
  turn: Turn<Env>,
  running?: { isAnswerVisible: boolean },
): Promise<EntryId | undefined> {
  const { lane } = turn.env;
  if (!turn.message.ok || isSelfEntered(turn.message.value)) return undefined;
  // Carry out what a person has decided before anything else.
  if (turn.parking.newest !== undefined) return undefined;
  if (turn.stage !== 'none' || turn.trial !== undefined || turn.isSuspect) return undefined;
  const way = turn.choice('busy');
  const isBegun = running !== undefined || turn.isRecordedIn(turn.session);
  const isOpen = way === 'interrupt' || (way === 'merge' && !isBegun);
  const first = turn.message.value;
  const mayJoin = mayBeComment(first) && running?.isAnswerVisible !== true && !hasAnswerBegun(turn);
  if (!isOpen && !mayJoin) return undefined;
  const behind = await lane.behind(turn.lane);
  const [next] = (isOpen ? behind : piecesOf(first, behind)).filter(
    ({ message, isMerged }) => isForModel(message) && !isMerged,
  );
  // A guest and the others are not answered together: they have different tools.
  return (next?.message.from.isGuest === true) === turn.isOfGuest ? next?.entry : undefined;
}

/** The changes that let the answer to `into` list also what the model changed for this message, with undo buttons. */
export function changesToReportIn(turn: Turn, into: EntryId): Change[] {
  if (turn.rounds === 0 && turn.merge.reportsFor.length === 0) return [];
  return [turnOf(turn.keys, into).merge.reportFor(turn.entries)];
}

/** Whether the compaction after the reply must stop for the lane's next message. False before that compaction. */
export async function mustStopCompaction(turn: Turn<Env>, { stopsCompactionFor }: TurnTime): Promise<boolean> {
  if (stopsCompactionFor === undefined) return false;
  const [next] = await turn.env.lane.behind(turn.lane);
  return next !== undefined && stopsCompactionFor(next.message);
}

/** Whether an earlier attempt has shown words, or has acted. */
function hasAnswerBegun(turn: Turn): boolean {
  const { rounds } = turn;
  return rounds > 0 || turn.partialAnswer.text !== '';
}

/** Whether a person wrote this for the model. A reminder is answered by itself, or another answer could lose it. */
export function isForModel(message: InboundMessage): boolean {
  return message.content.kind !== 'unsupported' && !isSelfEntered(message) && commandIn(message) === undefined;
}
