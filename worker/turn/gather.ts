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

/** The pieces of a message, i.e. the messages to merge into it, or the verdict that ends the attempt. */
type Gathering = { kind: 'gathered'; pieces: readonly Waiting[] } | Verdict;

/**
 * Merges the messages that wait behind a message and belong to it (its pieces): the other files of an album, the rest of a text
 * that an app split, messages that were forwarded together or with a comment, and the reminders behind a late reminder. Each
 * piece is settled as merged in its own turn. One step stores the list of pieces and a mark on each piece, so that all later
 * attempts merge the same pieces. A plain text does not wait for forwards. If forwards arrive before the answer has begun, the
 * call to the model is aborted, and the text is answered together with the forwards (`findLaterMessageToJoin`).
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function gather(turn: Turn<Env>, message: InboundMessage): Promise<Gathering> {
  const { lane, selfEntered } = turn.env;
  const handler = selfEntered.get(turn.kind);
  const takesReminders = handler?.takesOthers(turn) === true;
  const storedPieces = turn.merge.pieces;
  // A message that is already recorded in the conversation without its forwards cannot take forwards any more.
  const mayHaveForwards = !turn.isAloneAtBegin && !turn.isRecordedIn(turn.session);
  const needsNoPieces = mayHaveForwards && (mayBeComment(message) || takesReminders);
  if (storedPieces === undefined && !needsNoPieces && !mayHavePieces(message)) return { kind: 'gathered', pieces: [] };
  const waiting = await lane.behind(turn.lane);
  if (storedPieces !== undefined)
    return { kind: 'gathered', pieces: waiting.filter(({ entry }) => storedPieces.includes(entry)) };
  const pieces = piecesOf(message, waiting);
  // Most texts are not comments on forwards, so texts do not wait for forwards.
  if (needsNoPieces && pieces.length === 0) return { kind: 'gathered', pieces };
  if (turn.merge.piecesSeen !== pieces.length) {
    await turn.write('', [turn.merge.notePieceCount(pieces.length)]);
    return { kind: 'later', delayMs: turn.env.settings.GATHER_WAIT_MS, reason: 'gathering', isUncounted: true };
  }
  const turns = pieces.map(({ entry }) => turnOf(turn.keys, entry));
  const result = await turn.write(
    'gathered',
    [
      turn.merge.takePieces(pieces.map(({ entry }) => entry)),
      ...(handler?.storeMerged(turn, pieces) ?? []),
      ...turns.map((piece) => piece.merge.mergeInto(turn.entry)),
    ],
    turns.map((piece) => piece.expectNotCancelled()),
  );
  // A piece was cancelled meanwhile. The next attempt does not see that piece.
  if (result === 'unmet') return { kind: 'hand back' };
  if (pieces.length === 0) return { kind: 'gathered', pieces };
  // End this attempt, because the next attempt's notice lists the times of all these reminders.
  if (takesReminders) return { kind: 'hand back' };
  // Read the pieces again, because users could edit them until the write marked them as merged.
  const entries = new Set(pieces.map(({ entry }) => entry));
  return { kind: 'gathered', pieces: (await lane.behind(turn.lane)).filter(({ entry }) => entries.has(entry)) };
}

/** The conclusion of a message that was merged into another; else `undefined`. The reply to the other one notifies the user. */
export function mergedConclusion(turn: Turn): Conclusion | undefined {
  const into = turn.merge.mergedInto;
  if (into === undefined) return undefined;
  if (!turn.merge.isFailedMerge) return { outcome: 'merged', into, parts: [] };
  return { outcome: 'failed', reason: 'merged', into, parts: [] };
}

/** If a message failed, also fails the messages merged into it. If all of them are replayed, they merge again. */
export function failWithPieces(turn: Turn, verdict: Verdict, pieces?: readonly Waiting[]): Verdict {
  if (verdict.kind !== 'conclude' || verdict.conclusion.outcome !== 'failed') return verdict;
  const entries = pieces?.map(({ entry }) => entry) ?? turn.merge.pieces ?? [];
  const marks = entries.map((entry) => turnOf(turn.keys, entry).merge.failMerge());
  return { ...verdict, changes: [...verdict.changes, ...marks] };
}

/**
 * Finds a later message to answer together with this one: the next message for the model that was not merged into another. With
 * the choice `busy: interrupt`, any message for the model may stop this turn; with `busy: merge`, only before the model is
 * asked. In every chat, forwards that were sent with this text may stop its turn until the answer has begun. Finds none e.g.
 * for a reminder, a `/retry` or a suspect message, in a recovery or a trial, or if the turn has asked a person.
 */
export async function findLaterMessageToJoin(
  turn: Turn<Env>,
  running?: { isAnswerVisible: boolean },
): Promise<EntryId | undefined> {
  if (!turn.message.ok || isSelfEntered(turn.message.value)) return undefined;
  // A `/retry` is answered alone, because only an answer of its own takes the place of the earlier answer.
  if (turn.retryOf !== undefined) return undefined;
  // The turn has asked a person, whose decision it carries out first.
  if (turn.parking.newest !== undefined) return undefined;
  if (turn.stage !== 'none' || turn.trial !== undefined || turn.isSuspect) return undefined;
  const busyChoice = turn.choice('busy');
  const isModelAsked = running !== undefined || turn.isRecordedIn(turn.session);
  const joinsAny = busyChoice === 'interrupt' || (busyChoice === 'merge' && !isModelAsked);
  const message = turn.message.value;
  const joinsForwards = mayBeComment(message) && running?.isAnswerVisible !== true && !hasAnswerBegun(turn);
  if (!joinsAny && !joinsForwards) return undefined;
  const waiting = await turn.env.lane.behind(turn.lane);
  const [next] = (joinsAny ? waiting : piecesOf(message, waiting)).filter(
    ({ message, isMerged }) => isForModel(message) && !isMerged,
  );
  // Guests and members have different tools, so a guest's message is not answered together with a member's.
  return (next?.message.from.isGuest === true) === turn.isOfGuest ? next?.entry : undefined;
}

/** Makes the answer to `into` also list the changes that tools made for this message. Empty if no tool can have made any. */
export function changesToReportIn(turn: Turn, into: EntryId): Change[] {
  if (turn.rounds === 0 && turn.merge.reportsFor.length === 0) return [];
  return [turnOf(turn.keys, into).merge.reportFor(turn.entries)];
}

/** Whether the compaction after the reply must stop for the lane's next message. False before that compaction begins. */
export async function mustStopCompaction(turn: Turn<Env>, { stopsCompactionFor }: TurnTime): Promise<boolean> {
  if (stopsCompactionFor === undefined) return false;
  const [next] = await turn.env.lane.behind(turn.lane);
  return next !== undefined && stopsCompactionFor(next.message);
}

/** Whether an earlier attempt has shown part of the answer or called tools. */
function hasAnswerBegun(turn: Turn): boolean {
  return turn.rounds > 0 || turn.partialAnswer.text !== '';
}

/**
 * Whether a person wrote this message for the model, and its kind is supported. False for a reminder, because one answer to
 * several messages could leave the reminder out.
 */
export function isForModel(message: InboundMessage): boolean {
  return message.content.kind !== 'unsupported' && !isSelfEntered(message) && commandIn(message) === undefined;
}
