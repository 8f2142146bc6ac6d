import type { InboundMessage } from '../../shared/flow/message.ts';

/** An app cuts a pasted text into messages a little below Telegram's limit of 4,096. */
const CUT_CHARS_MIN = 3_900;
/** An app sends a comment and the messages that it forwards with it at once; Telegram dates them in seconds. */
const AT_ONCE_MS = [0, 1_000, 2_000];
const REMEMBERED_MAX = 1_000;

/**
 * What belongs to an addressed message of a group without being addressed itself: the other pictures of an album, of
 * which only one has the caption, the rest of a pasted text that an app cut, and what is forwarded with a comment.
 * Known to this process alone, and for the newest messages: after a restart between two pieces the later one may be
 * ignored.
 */
export class FollowUps {
  readonly #expected = new Set<string>();

  /** Notes an addressed message. */
  note(message: InboundMessage): void {
    const { chatId, from, messageId, album, content, sentAtMs } = message;
    this.#expect(`said ${chatId} ${from.id} ${sentAtMs}`);
    if (album !== undefined) this.#expect(`album ${chatId} ${from.id} ${album}`);
    if (content.kind === 'text' && content.text.length >= CUT_CHARS_MIN)
      this.#expect(`text ${chatId} ${from.id} ${messageId + 1}`);
  }

  /** Whether a message belongs to an addressed one. */
  includes({ chatId, from, messageId, album, forwardedFrom, sentAtMs }: InboundMessage): boolean {
    const isAtOnce = (afterMs: number) => this.#expected.has(`said ${chatId} ${from.id} ${sentAtMs - afterMs}`);
    if (forwardedFrom !== undefined && AT_ONCE_MS.some(isAtOnce)) return true;
    if (album !== undefined) return this.#expected.has(`album ${chatId} ${from.id} ${album}`);
    return this.#expected.has(`text ${chatId} ${from.id} ${messageId}`);
  }

  #expect(what: string): void {
    this.#expected.add(what);
    const [oldest] = this.#expected;
    if (this.#expected.size > REMEMBERED_MAX && oldest !== undefined) this.#expected.delete(oldest);
  }
}
