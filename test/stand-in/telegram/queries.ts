import { badRequest } from './refusal.ts';

/** How the bot answered a press of a button. */
export interface QueryAnswer {
  readonly queryId: string;
  readonly at: number;
  /** What the person read, if anything. */
  readonly text?: string;
  /** Whether it was a dialog that must be closed. */
  readonly isAlert: boolean;
}

const TEXT_CHARS_MAX = 200;
/** Ids are large, as the real ones are. */
const FIRST_ID = 4_382_000_000_001n;

/** The presses of buttons, each of which waits for an answer. */
export class Queries {
  readonly answers: QueryAnswer[] = [];
  readonly #open = new Set<string>();
  #nextId = FIRST_ID;

  /** Opens a query, and answers its id. */
  open(): string {
    const id = String(this.#nextId);
    this.#nextId += 1n;
    this.#open.add(id);
    return id;
  }

  /** Makes every query too old that was not answered. */
  expire(): void {
    this.#open.clear();
  }

  /** Answers a query, once. */
  answer(queryId: string, text: string | undefined, isAlert: boolean): void {
    if ([...(text ?? '')].length > TEXT_CHARS_MAX) throw badRequest('MESSAGE_TOO_LONG');
    if (!this.#open.delete(queryId)) {
      throw badRequest('query is too old and response timeout expired or query ID is invalid');
    }
    this.answers.push({ queryId, at: Date.now(), isAlert, ...(text && { text }) });
  }
}
