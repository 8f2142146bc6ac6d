import { BoundedMap } from '../../shared/base/bounded-map.ts';
import { decodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import type { EntryId } from '../../shared/redis/keys.ts';

const MESSAGES_MAX = 500;

/** The messages of heads of which this process was told, until it begins them. */
export class ForeseenMessages {
  readonly #messages = new BoundedMap<EntryId, string>(MESSAGES_MAX);

  /** Notes a message; an empty one says nothing. */
  note(entry: EntryId, message: string): void {
    if (message !== '') this.#messages.set(entry, message);
  }

  /** The message, once; undefined for one that cannot be read. */
  take(entry: EntryId): InboundMessage | undefined {
    const message = this.#messages.take(entry);
    const decoded = message === undefined ? undefined : decodeMessage(message);
    return decoded?.ok ? decoded.value : undefined;
  }
}
