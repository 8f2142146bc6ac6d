import { findButton } from '../../fixture/buttons.ts';
import { ALERT_CHAT, type World } from '../../fixture/gateway.ts';
import { until } from '../../fixture/root.ts';

const PATIENCE_MS = 120_000;

/** The phone of an operator: it sees the operators' chat, and can press what stands there. Nothing else. */
export class Phone {
  readonly pressed: string[] = [];
  readonly #world: World;
  #firstPressMs: number | undefined;
  #heldMs = 0;
  #lastSeenMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Waits for a message. Rejects with what stands there instead. */
  async reads(match: RegExp): Promise<number> {
    const { messageId } = await this.#world.telegram.waitForText(ALERT_CHAT, match, PATIENCE_MS);
    this.#lastSeenMs = performance.now();
    return messageId;
  }

  /** Presses the button of the newest message that has it, once it is there. */
  async presses(label: RegExp): Promise<void> {
    const find = () => findButton(this.#world.telegram.shown(ALERT_CHAT), ({ text }) => label.test(text));
    const found = await until(`button ${label}`, find, PATIENCE_MS);
    this.#firstPressMs ??= performance.now();
    this.pressed.push(found.label);
    this.#world.telegram.press(ALERT_CHAT, found.messageId, found.data);
  }

  /** The first line of each message that rang, oldest first. */
  rings(): string[] {
    const all = this.#world.telegram.shown(ALERT_CHAT).filter(({ notified }) => notified !== undefined);
    return all.map(({ notified = '' }) => notified.split('\n')[0] ?? '');
  }

  /** The operator has seen that the last press worked, and puts the phone away. */
  putAway(): void {
    this.#heldMs = performance.now();
  }

  /** From the first press until the phone was put away, and until what was read last stood there, in seconds. */
  seconds(): { held: number; toEnd: number } {
    const fromMs = this.#firstPressMs;
    if (fromMs === undefined) return { held: 0, toEnd: 0 };
    return { held: (this.#heldMs - fromMs) / 1_000, toEnd: (this.#lastSeenMs - fromMs) / 1_000 };
  }
}
