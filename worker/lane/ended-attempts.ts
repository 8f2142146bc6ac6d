/** How an attempt ended that did not end its message: for whoever asks why a message takes so long. */
export interface EndedAttempt {
  atMs: number;
  /** Its number, as the attempt counted. */
  attempt: number;
  /** A short code, such as `overloaded`. */
  reason: string;
  /** How long the message was put off; absent when it went on at once. */
  delayMs?: number;
}

/** The turn's field for how its newest attempts ended, as JSON. */
export const ENDED = 'ended';

/** A turn may wait for hours, and each of its attempts writes this field anew. */
const KEPT_MAX = 20;

/** The field with one more end. Pure. */
export function withEnd(field: string | undefined, end: EndedAttempt): string {
  return JSON.stringify([...endsIn(field), end].slice(-KEPT_MAX));
}

/** The ends that a field holds, oldest first; none when it cannot be read. Pure. */
export function endsIn(field: string | undefined): EndedAttempt[] {
  try {
    const ends: unknown = JSON.parse(field ?? '[]');
    return Array.isArray(ends) ? ends : [];
  } catch {
    return [];
  }
}
