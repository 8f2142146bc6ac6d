import type { Entity } from './entities.ts';
import type { RichBlock } from './rich-message.ts';

/** One state of a draft, as a person saw it. */
export interface DraftState {
  readonly draftId: number;
  readonly at: number;
  readonly text: string;
  readonly rich?: RichBlock[];
  readonly entities?: Entity[];
  readonly topicId?: number | undefined;
  /** Whether there is a button to stop. */
  readonly canStop: boolean;
  /** Whether the draft stays for a while when that is pressed. */
  readonly keepOnStop: boolean;
}

/** The previews beside private chats. Nothing keeps them, except this ledger. */
export class Drafts {
  readonly #states = new Map<number, DraftState[]>();
  /** The states that people still see, by chat and topic. */
  readonly #visible = new Map<string, DraftState>();

  /** Shows a draft in place of the one that stands there. */
  show(chatId: number, draft: Omit<DraftState, 'at'>): void {
    const state = { ...draft, at: Date.now() };
    this.#states.set(chatId, [...this.all(chatId), state]);
    this.#visible.set(`${chatId}/${draft.topicId}`, state);
  }

  /** A message of the bot arrived, and dismisses the draft there. */
  dismiss(chatId: number, topicId: number | undefined): void {
    this.#visible.delete(`${chatId}/${topicId}`);
  }

  /** Every state that was shown in a chat. */
  all(chatId: number): DraftState[] {
    return this.#states.get(chatId) ?? [];
  }

  /** Takes the button away, and the draft where it is not to stay. Undefined where there is no such button. */
  stop(chatId: number, topicId: number | undefined): DraftState | undefined {
    const shown = this.#visible.get(`${chatId}/${topicId}`);
    if (!shown?.canStop) return undefined;
    this.dismiss(chatId, topicId);
    if (shown.keepOnStop) this.show(chatId, { ...shown, canStop: false });
    return shown;
  }
}
