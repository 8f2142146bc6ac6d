import type { InboundMessage } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { commandOf } from '../../shared/telegram/commands.ts';

/** A message that waits in a lane. */
export interface Waiting {
  entry: EntryId;
  message: InboundMessage;
}

/**
 * No message is longer than 4096 characters. An app cuts pasted text there, or a little earlier at the end of a word.
 */
const CUT_CHARS_MAX = 4_096;
const CUT_CHARS_MIN = 3_500;
/** The app sends the pieces at once; Telegram dates them in seconds. */
const CUT_MS_MAX = 2_000;

/** Whether further messages may complete this one: an album, or a long text that an app cut. Pure. */
export function mayHavePieces({ album, content }: InboundMessage): boolean {
  return album === undefined ? isCut(content) : content.kind === 'file';
}

/** The further pieces of a message among those waiting behind it, in order. Pure. */
export function piecesOf(first: InboundMessage, behind: readonly Waiting[]): Waiting[] {
  if (!mayHavePieces(first)) return [];
  const own = behind.filter(({ message }) => message.from.id === first.from.id);
  if (first.album !== undefined) return own.filter(({ message }) => isOfAlbum(message, first.album));
  const rest = own.findIndex(({ message }, at) => !follows(message, own[at - 1]?.message ?? first));
  return rest < 0 ? own : own.slice(0, rest);
}

function isOfAlbum({ album, content }: InboundMessage, wanted: string | undefined): boolean {
  return album === wanted && content.kind === 'file';
}

function follows({ content, sentAtMs }: InboundMessage, before: InboundMessage): boolean {
  if (content.kind !== 'text' || commandOf(content.text) !== undefined || !isCut(before.content)) return false;
  return sentAtMs - before.sentAtMs <= CUT_MS_MAX;
}

function isCut(content: InboundMessage['content']): boolean {
  if (content.kind !== 'text' || commandOf(content.text) !== undefined) return false;
  return content.text.length >= CUT_CHARS_MIN && content.text.length <= CUT_CHARS_MAX;
}
