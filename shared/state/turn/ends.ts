/** How an attempt ended that did not end its message. */
export interface EndedAttempt {
  atMs: number;
  /** Its number, as the attempt counted. */
  attempt: number;
  /** A short code, such as `overloaded`. */
  reason: string;
  /** How long the message was put off; absent when it went on at once. */
  delayMs?: number;
}

/** A turn may wait for hours, and each of its attempts adds one. */
const ENDS_KEPT = 20;

/** The ends that a turn's record holds, oldest first; none when it cannot be read. */
export function endsIn(json: string | undefined): EndedAttempt[] {
  try {
    const ends: unknown = JSON.parse(json ?? '[]');
    return Array.isArray(ends) ? ends : [];
  } catch {
    return [];
  }
}

/** The ends with one more, of which the newest stay. */
export function withEnd(ends: readonly EndedAttempt[], end: EndedAttempt): EndedAttempt[] {
  return [...ends, end].slice(-ENDS_KEPT);
}
