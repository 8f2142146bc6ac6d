/** A moment to the second as people read it: `2026-11-25 04:13:59 UTC`. Pure. */
export function utcTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
