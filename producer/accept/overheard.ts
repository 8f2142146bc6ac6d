import { BoundedMap } from '../../shared/base/bounded-map.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import { type InboundMessage, laneOf } from '../../shared/flow/message.ts';
import type { LaneKey } from '../../shared/redis/keys.ts';

/** A group's message that does not address the bot. */
type Remark = NonNullable<InboundMessage['overheard']>[number];

const REMARK_CHARS = 500;
const LANES_MAX = 1_000;
/** The largest age of a remark that is added to a message. An older remark has little to do with a new question. */
const AGE_MS_MAX = 3_600_000;

/**
 * Remembers messages that do not address the bot, the newest in each group or topic. Adds those of the last hour, as context,
 * to the next message there that does address the bot. Only the memory of this process holds the remembered messages.
 */
export class Overheard {
  readonly #remarks = new BoundedMap<LaneKey, { remark: Remark; atMs: number }[]>(LANES_MAX);
  readonly #messagesMax: number;

  /** `messagesMax`: how many messages to remember for each group, or for each topic of a group; 0 for none. */
  constructor(messagesMax: number) {
    this.#messagesMax = messagesMax;
  }

  note(message: InboundMessage, nowMs: number): void {
    const { content, from } = message;
    const text = 'text' in content ? graphemePrefix(content.text ?? '', REMARK_CHARS).trim() : '';
    if (this.#messagesMax === 0 || text === '') return;
    const lane = laneOf(message);
    const remark = { by: from.name ?? String(from.id), text };
    const remarks = [...(this.#remarks.get(lane) ?? []), { remark, atMs: nowMs }];
    this.#remarks.set(lane, remarks.slice(-this.#messagesMax));
  }

  /** Returns the message with the remarks from the last hour in its chat or topic. */
  addTo(message: InboundMessage, nowMs: number): InboundMessage {
    const remarks = this.#remarks.get(laneOf(message)) ?? [];
    const overheard = remarks.filter(({ atMs }) => nowMs - atMs <= AGE_MS_MAX).map(({ remark }) => remark);
    return overheard.length === 0 ? message : { ...message, overheard };
  }

  /** Forgets all remarks in the chat or topic of a message that was stored with them. */
  clear(message: InboundMessage): void {
    this.#remarks.take(laneOf(message));
  }
}
