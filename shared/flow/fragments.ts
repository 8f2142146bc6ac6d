import type { EntryId } from '../redis/keys.ts';
import { commandIn, type InboundMessage } from './message.ts';

/** A message that waits in a lane. */
export interface Waiting {
  entry: EntryId;
  message: InboundMessage;
  /** It went into a message before it. */
  isTaken?: true;
}

/**
 * No message is longer than 4096 characters. An app cuts pasted text there, or a little earlier at the end of a word.
 */
const CUT_CHARS_MAX = 4_096;
const CUT_CHARS_MIN = 3_500;
/** The app sends what belongs together at once; Telegram dates it in seconds. */
const AT_ONCE_MS_MAX = 2_000;
/** As many messages as an app forwards at once. */
export const BURST_MAX = 100;

/** Whether further messages may complete this one: an album, a long text that an app cut, or forwards. Pure. */
export function mayHavePieces(message: InboundMessage): boolean {
  if (isForward(message)) return true;
  const { album, content } = message;
  return album === undefined ? isCut(message) : content.kind === 'file';
}

/** Whether this may be the comment that an app sends before the messages that it forwards. Pure. */
export function mayBeComment(message: InboundMessage): boolean {
  return message.content.kind === 'text' && !isForward(message) && commandIn(message) === undefined && !isCut(message);
}

/** The further pieces of a message among those waiting behind it, in order. Pure. */
export function piecesOf(first: InboundMessage, behind: readonly Waiting[]): Waiting[] {
  const own = behind.filter(({ message }) => message.from.id === first.from.id);
  if (isForward(first) || mayBeComment(first)) return run(first, own, isForward).slice(0, BURST_MAX);
  if (!mayHavePieces(first)) return [];
  if (first.album !== undefined) return own.filter(({ message }) => isOfAlbum(message, first.album));
  return run(first, own, isRest);
}

/** Whether a message was forwarded. Pure. */
export function isForward({ forwardedFrom }: InboundMessage): boolean {
  return forwardedFrom !== undefined;
}

/** The messages up to the first that does not go on what came before it. */
function run(
  first: InboundMessage,
  own: readonly Waiting[],
  goesOn: (message: InboundMessage, before: InboundMessage) => boolean,
): Waiting[] {
  const end = own.findIndex(({ message }, at) => {
    const before = own[at - 1]?.message ?? first;
    return !goesOn(message, before) || message.sentAtMs - before.sentAtMs > AT_ONCE_MS_MAX;
  });
  return end < 0 ? [...own] : own.slice(0, end);
}

function isOfAlbum({ album, content }: InboundMessage, wanted: string | undefined): boolean {
  return album === wanted && content.kind === 'file';
}

function isRest(message: InboundMessage, before: InboundMessage): boolean {
  return message.content.kind === 'text' && commandIn(message) === undefined && !isForward(message) && isCut(before);
}

function isCut(message: InboundMessage): boolean {
  const { content } = message;
  if (content.kind !== 'text' || commandIn(message) !== undefined) return false;
  return content.text.length >= CUT_CHARS_MIN && content.text.length <= CUT_CHARS_MAX;
}
