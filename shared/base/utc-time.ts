/** A moment to the second as people read it: `2026-11-25 04:13:59 UTC`. Pure. */
export function utcTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The same to the minute, of a moment within the day: `04:13 UTC`. Pure. */
export function utcClock(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 16)} UTC`;
}
