import type { InboundMessage } from '../../shared/flow/message.ts';

/** An app cuts a pasted text into messages a little below Telegram's limit of 4,096. */
const CUT_CHARS_MIN = 3_900;
/** An app sends a comment and the messages that it forwards with it at once; Telegram dates them in seconds. */
const AT_ONCE_MS = [0, 1_000, 2_000];

/**
 * What of a sender belongs to an addressed message of a group without being addressed itself: the other pictures of an
 * album, of which only one has the caption, the rest of a pasted text that an app cut, and what is forwarded with a
 * comment. Kept beside the message, so that any producer knows.
 */
export interface Expected {
  /** When the addressed message was written: what is forwarded then belongs to it. */
  said?: string;
  album?: string;
  /** The id of the message that goes on. */
  text?: string;
}

/** What may follow an accepted message. Pure. */
export function expectedAfter({ album, content, messageId, sentAtMs }: InboundMessage): Expected {
  const isCut = content.kind === 'text' && content.text.length >= CUT_CHARS_MIN;
  return { said: String(sentAtMs), ...(album && { album }), ...(isCut && { text: String(messageId + 1) }) };
}

/** Whether a message belongs to one of the same sender that was addressed. Pure. */
export function isExpected({ messageId, album, forwardedFrom, sentAtMs }: InboundMessage, expected: Expected): boolean {
  const isAtOnce = (afterMs: number) => expected.said === String(sentAtMs - afterMs);
  if (forwardedFrom !== undefined && AT_ONCE_MS.some(isAtOnce)) return true;
  return album === undefined ? expected.text === String(messageId) : expected.album === album;
}
