import type { EntryId, LaneKey } from '../../redis/keys.ts';

/** The oldest unanswered message of a lane: the only one of it that may be a job. */
export interface Head {
  entry: EntryId;
  /** Its lane: that of its chat, or the command lane. */
  chat: LaneKey;
  traceparent: string;
}

/** A head as a script names it. */
export type HeadReply = [EntryId, LaneKey, traceparent: string];

/** Reads a head from a script's reply. Pure. */
export function headOf([entry, chat, traceparent]: HeadReply): Head {
  return { entry, chat, traceparent };
}
