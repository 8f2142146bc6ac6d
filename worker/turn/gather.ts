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

/** The further pieces of a message, or the decision to wait because more may come. */
export type Gathering = { kind: 'gathered'; pieces: readonly Waiting[] } | Verdict;

/** Nothing marks the last piece, so wait until no more arrive. */
const WAIT_MS = 1_000;

/**
 * Takes the further pieces of a message (an album, a pasted text that Telegram split, messages that were forwarded
 * together or with a comment, and what the gateway entered behind a message of its own that is late) out of its lane; each
 * of them is then settled as merged in its turn. The list of pieces is stored in one step with the mark on each, so all later attempts take the same ones. A text waits for nothing: where
 * messages that were forwarded with it come after it was sent to the model, it joins them (`supersededBy`).
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function gather(turn: Turn<Env>, message: InboundMessage): Promise<Gathering> {
  const { lane, selfEntered } = turn.env;
  const own = selfEntered.get(turn.kind);
  const takesOthers = own?.takesOthers(turn) === true;
  const taken = turn.company.pieces;
  // A message that stands in its conversation without its forwards cannot take them any more.
  const mayTake = (mayBeComment(message) || takesOthers) && !turn.isAloneAtBegin;
  const needsNoPieces = mayTake && !turn.isRecordedIn(turn.session);
  if (taken === undefined && !needsNoPieces && !mayHavePieces(message)) return { kind: 'gathered', pieces: [] };
  const behind = await lane.behind(turn.lane);
  if (taken !== undefined) return { kind: 'gathered', pieces: behind.filter(({ entry }) => taken.includes(entry)) };
  const pieces = piecesOf(message, behind);
  // Most texts are no comment, and are not held up.
  if (needsNoPieces && pieces.length === 0) return { kind: 'gathered', pieces };
  if (turn.company.piecesSeen !== pieces.length) {
    await turn.write('', [turn.company.seePieces(pieces.length)]);
    return { kind: 'later', delayMs: WAIT_MS, reason: 'gathering', isFree: true };
  }
  const turns = pieces.map(({ entry }) => turnOf(turn.keys, entry));
  const taking = await turn.write(
    'gathered',
    [
      turn.company.takePieces(pieces.map(({ entry }) => entry)),
      ...(own?.keep(turn, pieces) ?? []),
      ...turns.map((piece) => piece.company.mergeInto(turn.entry)),
    ],
    turns.map((piece) => piece.notCancelled()),
  );
  // One that was cancelled meanwhile is no piece of anything: the next attempt does not see it.
  if (taking === 'unmet') return { kind: 'hand back' };
  if (pieces.length === 0) return { kind: 'gathered', pieces };
  // The next attempt says the times of all of them.
  if (takesOthers) return { kind: 'hand back' };
  // A piece may have been edited until it was marked; from now on it cannot.
  const marked = new Set(pieces.map(({ entry }) => entry));
  return { kind: 'gathered', pieces: (await lane.behind(turn.lane)).filter(({ entry }) => marked.has(entry)) };
}

/** How a message ends that was merged into another one; undefined for any other. Its user is notified there. */
export function mergedConclusion(turn: Turn): Conclusion | undefined {
  const into = turn.company.mergedInto;
  if (into === undefined) return undefined;
  if (!turn.company.isFailedMerge) return { outcome: 'merged', into, parts: [] };
  return { outcome: 'failed', reason: 'merged', into, parts: [] };
}

/**
 * A message that fails is kept as a dead letter together with its pieces: replayed together, they are one message
 * again.
 */
export function failTogether(turn: Turn, decided: Verdict, pieces?: readonly Waiting[]): Verdict {
  if (decided.kind !== 'conclude' || decided.conclusion.outcome !== 'failed') return decided;
  const taken = pieces?.map(({ entry }) => entry) ?? turn.company.pieces ?? [];
  const marks = taken.map((entry) => turnOf(turn.keys, entry).company.failMerge());
  return { ...decided, changes: [...decided.changes, ...marks] };
}

/**
 * The message behind this one that it is answered together with: the nearest one for the model that is no piece of it.
 * A chat that wants to be interrupted leaves a running turn for it; one that merges, only a turn that has not begun to
 * think; and in any chat a text is left for what was forwarded with it, as long as nothing of an answer was seen. A
 * recovery is never left: it decides about the conversation, not about one message. Nor is a turn that has asked a person.
 */
export async function supersededBy(turn: Turn<Env>, running?: { isSeen: boolean }): Promise<EntryId | undefined> {
  const { lane } = turn.env;
  if (!turn.message.ok || isSelfEntered(turn.message.value)) return undefined;
  // What a person has decided is done, and not left for what came meanwhile.
  if (turn.parking.newest !== undefined) return undefined;
  if (turn.stage !== 'none' || turn.trial !== undefined || turn.isBlamed) return undefined;
  const way = turn.choice('busy');
  const isBegun = running !== undefined || turn.isRecordedIn(turn.session);
  const isOpen = way === 'interrupt' || (way === 'merge' && !isBegun);
  const first = turn.message.value;
  const mayJoin = mayBeComment(first) && running?.isSeen !== true && !hasAnswerBegun(turn);
  if (!isOpen && !mayJoin) return undefined;
  const behind = await lane.behind(turn.lane);
  const [next] = (isOpen ? behind : piecesOf(first, behind)).filter(
    ({ message, isTaken }) => isForModel(message) && !isTaken,
  );
  // What a guest asks is never done with the tools of others, nor what others ask without them.
  return (next?.message.from.isGuest === true) === turn.isOfGuest ? next?.entry : undefined;
}

/** The commands by which the message that this one is answered together with names what was done for this one as well. */
export function handingOn(turn: Turn, into: EntryId): Change[] {
  if (turn.rounds === 0 && turn.company.answersWith.length === 0) return [];
  return [turnOf(turn.keys, into).company.answerWith(turn.entries)];
}

/** Whether the compaction after the reply must stop for the lane's next message. False before that compaction. */
export async function isYielding(turn: Turn<Env>, { yieldsTo }: Pick<TurnTime, 'yieldsTo'>): Promise<boolean> {
  const { lane } = turn.env;
  if (yieldsTo === undefined) return false;
  const [next] = await lane.behind(turn.lane);
  return next !== undefined && yieldsTo(next.message);
}

/** Whether an earlier attempt has shown words, or has acted. */
function hasAnswerBegun(turn: Turn): boolean {
  const { rounds } = turn;
  return rounds > 0 || turn.said.text !== '';
}

/** What the gateway entered is answered by itself: nobody has written it, and it must not be lost in another answer. */
export function isForModel(message: InboundMessage): boolean {
  return message.content.kind !== 'unsupported' && !isSelfEntered(message) && commandIn(message) === undefined;
}
