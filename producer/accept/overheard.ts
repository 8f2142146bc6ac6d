import { BoundedMap } from '../../shared/base/bounded-map.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import { type InboundMessage, laneOf } from '../../shared/flow/message.ts';
import type { LaneKey } from '../../shared/redis/keys.ts';

/** A message of a group that does not address the bot. */
type Remark = NonNullable<InboundMessage['overheard']>[number];

const REMARK_CHARS = 500;
const LANES_MAX = 1_000;
/** An older remark has little to do with the next question. */
const AGE_MS_MAX = 3_600_000;

/**
 * The newest messages of each group that do not address the bot, as context for the next one that does. They stay for an hour,
 * in the memory of this process only.
 */
export class Overheard {
  readonly #remarks = new BoundedMap<LaneKey, { remark: Remark; atMs: number }[]>(LANES_MAX);
  readonly #messagesMax: number;

  /** `messagesMax`: how many messages to remember of each group, or of each topic in a group. 0 turns this off. */
  constructor(messagesMax: number) {
    this.#messagesMax = messagesMax;
  }

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

  /** Adds the remarks of the last hour to the message that follows them. */
  addTo(message: InboundMessage, nowMs: number): InboundMessage {
    const remarks = this.#remarks.get(laneOf(message)) ?? [];
    const overheard = remarks.filter(({ atMs }) => nowMs - atMs <= AGE_MS_MAX).map(({ remark }) => remark);
    return overheard.length === 0 ? message : { ...message, overheard };
  }

  /** Forgets the remarks that a stored message carries. */
  clear(message: InboundMessage): void {
    this.#remarks.take(laneOf(message));
  }
}
