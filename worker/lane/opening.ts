import type { SessionId } from '../../shared/redis/keys.ts';
import type { HeldWindow, OpenReply } from '../session/held-window.ts';
import type { UserRecord } from '../session/record.ts';

/** What a chat's next record is made from, besides its message. A change of any of it shows when the attempt begins. */
export interface ChatFacts {
  readonly session: SessionId;
  /** As its people chose it, or ''. */
  readonly timeZone: string;
  /** As its people chose it, or ''. */
  readonly model: string;
  /** The most that is loaded of its window. */
  readonly bytesMax: number;
}

/** What a process holds of a chat's window, and where that ends: see `placeOf`. */
export interface Ground {
  readonly facts: ChatFacts;
  readonly held: HeldWindow | undefined;
  readonly place: readonly (string | number)[];
}

/** The record of a message that is to be recorded as its first attempt begins. */
export interface Opening extends Ground {
  readonly record: UserRecord;
  readonly line: string;
}

/** An opening that was carried out, with the window that was loaded in the same step. */
export interface Opened extends Opening {
  readonly reply: Extract<OpenReply, ['opened', ...unknown[]]>;
}
