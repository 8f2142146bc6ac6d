import { BoundedMap } from '../../shared/base/bounded-map.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import { type InboundMessage, laneOf } from '../../shared/flow/message.ts';
import type { LaneKey } from '../../shared/redis/keys.ts';

/** A remark in a group that was not made to the bot. */
type Remark = NonNullable<InboundMessage['overheard']>[number];

const REMARK_CHARS = 500;
const LANES_MAX = 1_000;
/** An older remark has little to do with a question. */
const AGE_MS_MAX = 3_600_000;

/**
 * The newest messages of each group that were not for the bot, as context for the next one that is. Only the memory
 * of this process has them, for an hour. A restart forgets them.
 */
export class Overheard {
  readonly #remarks = new BoundedMap<LaneKey, { remark: Remark; atMs: number }[]>(LANES_MAX);
  readonly #messagesMax: number;

  /** Keeps at most so many messages of a group, or of a topic in it; none for 0. */
  constructor(messagesMax: number) {
    this.#messagesMax = messagesMax;
  }

  /** Notes a message that is not for the bot. */
  note(message: InboundMessage, nowMs: number): void {
    const { content, from } = message;
    const text = 'text' in content ? graphemePrefix(content.text ?? '', REMARK_CHARS).trim() : '';
    if (this.#messagesMax === 0 || text === '') return;
    const lane = laneOf(message);
    const remarks = [
      ...(this.#remarks.get(lane) ?? []),
      { remark: { by: from.name ?? String(from.id), text }, atMs: nowMs },
    ];
    this.#remarks.set(lane, remarks.slice(-this.#messagesMax));
  }

  /** The message with the remarks before it. */
  before(message: InboundMessage, nowMs: number): InboundMessage {
    const remarks = this.#remarks.get(laneOf(message)) ?? [];
    const overheard = remarks.filter(({ atMs }) => nowMs - atMs <= AGE_MS_MAX).map(({ remark }) => remark);
    return overheard.length === 0 ? message : { ...message, overheard };
  }

  /** Forgets the remarks before a message that is stored now. */
  clear(message: InboundMessage): void {
    this.#remarks.take(laneOf(message));
  }
}
