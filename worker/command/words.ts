/** A time in a zone, to the minute: `2026-11-22 14:03`. */
export function inMinutes(atMs: number, timeZone: string): string {
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
  return new Intl.DateTimeFormat('sv-SE', { ...parts, timeZone }).format(atMs);
}

/** A day in a zone: `2026-11-22`. */
export function onDay(atMs: number, timeZone: string): string {
  return inMinutes(atMs, timeZone).slice(0, 10);
}

const GAUGE_CELLS = 10;

/** A share as a bar: `▓▓▓▓░░░░░░`. */
export function gaugeOf(share: number): string {
  const full = Math.min(GAUGE_CELLS, Math.max(0, Math.round(share * GAUGE_CELLS)));
  return '▓'.repeat(full) + '░'.repeat(GAUGE_CELLS - full);
}
