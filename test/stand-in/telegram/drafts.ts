import { type Chat, topicIn } from './chats.ts';
import type { Entity } from './entities.ts';
import type { RichBlock } from './rich-blocks.ts';

/** One state of a draft, as a person saw it. */
export interface DraftState {
  readonly draftId: number;
  readonly at: number;
  /** What the person read; of an empty draft it is "Thinking…". */
  readonly text: string;
  readonly rich?: RichBlock[];
  readonly entities?: Entity[];
  readonly topicId?: number;
  /** Whether there is a button to stop. */
  readonly canStop: boolean;
  /** Whether the draft stays for a while when that is pressed. */
  readonly keepOnStop: boolean;
  /** When it ended, and by what: a later state, a message of the bot, its time, or the button. */
  readonly endedAt?: number;
  readonly endedBy?: 'change' | 'message' | 'time' | 'stop';
}

/** A draft as it is sent. */
export type NewDraft = Omit<DraftState, 'at' | 'endedAt' | 'endedBy'>;

type Kept = { -readonly [Key in keyof DraftState]: DraftState[Key] };

/** The previews beside private chats. Nothing keeps them, except this ledger. */
export class Drafts {
  readonly #lifeMs: number;
  readonly #states = new Map<number, Kept[]>();

  constructor(lifeMs: number) {
    this.#lifeMs = lifeMs;
  }

  /** Shows a draft in place of the one that stands there. */
  show(chatId: number, draft: NewDraft): void {
    this.#end(chatId, draft.topicId, 'change');
    const states = this.#states.get(chatId) ?? [];
    states.push({ ...draft, at: Date.now() });
    this.#states.set(chatId, states);
  }

  /** A message of the bot arrived, and dismisses the draft there. */
  dismiss(chatId: number, topicId: number | undefined): void {
    this.#end(chatId, topicId, 'message');
  }

  /** Every state that was shown in a chat. */
  all(chatId: number): DraftState[] {
    return (this.#states.get(chatId) ?? []).map((state) => {
      const timeIsUpAt = state.at + this.#lifeMs;
      const isOver = state.endedAt !== undefined || timeIsUpAt > Date.now();
      return isOver ? { ...state } : { ...state, endedAt: timeIsUpAt, endedBy: 'time' };
    });
  }

  /** What is shown now. */
  visible(chatId: number, topicId: number | undefined): DraftState | undefined {
    return this.all(chatId).findLast((state) => state.topicId === topicId && state.endedAt === undefined);
  }

  /** Takes the button away, and the draft where it is not to stay. Undefined where there is no such button. */
  stop(chat: Chat, topicId: number | undefined): DraftState | undefined {
    const shown = this.visible(chat.id, topicIn(chat, topicId));
    if (!shown?.canStop) return undefined;
    this.#end(chat.id, shown.topicId, 'stop');
    if (shown.keepOnStop) this.#states.get(chat.id)?.push({ ...shown, canStop: false, at: Date.now() });
    return shown;
  }

  #end(chatId: number, topicId: number | undefined, by: NonNullable<DraftState['endedBy']>): void {
    const visible = this.visible(chatId, topicId);
    const kept = this.#states.get(chatId)?.findLast((state) => state.topicId === topicId);
    if (visible === undefined || kept === undefined) return;
    kept.endedAt = Date.now();
    kept.endedBy = by;
  }
}
