import type { InboundMessage } from '../../shared/flow/message.ts';

/** An app cuts a pasted text into messages a little below Telegram's limit of 4,096. */
const CUT_CHARS_MIN = 3_900;
const REMEMBERED_MAX = 1_000;

/**
 * What belongs to an addressed message of a group without being addressed itself: the other pictures of an album, of
 * which only one has the caption, and the rest of a pasted text that an app cut. Known to this process alone, and for
 * the newest messages: after a restart between two pieces the later one may be ignored.
 */
export class FollowUps {
  readonly #expected = new Set<string>();

  /** Notes an addressed message. */
  note(message: InboundMessage): void {
    const { chatId, from, messageId, album, content } = message;
    if (album !== undefined) this.#expect(`album ${chatId} ${from.id} ${album}`);
    if (content.kind === 'text' && content.text.length >= CUT_CHARS_MIN)
      this.#expect(`text ${chatId} ${from.id} ${messageId + 1}`);
  }

  /** Whether a message belongs to an addressed one. */
  includes({ chatId, from, messageId, album }: InboundMessage): boolean {
    if (album !== undefined) return this.#expected.has(`album ${chatId} ${from.id} ${album}`);
    return this.#expected.has(`text ${chatId} ${from.id} ${messageId}`);
  }

  #expect(what: string): void {
    this.#expected.add(what);
    const [oldest] = this.#expected;
    if (this.#expected.size > REMEMBERED_MAX && oldest !== undefined) this.#expected.delete(oldest);
  }
}
