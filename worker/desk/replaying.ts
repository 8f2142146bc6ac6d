import type { LetterFilter } from '../../shared/state/lane/letter-list.ts';
import type { Incident } from '../alerts/incident.ts';
import { countReplayable, replayAll } from '../operator/letters.ts';
import type { Effect, Question } from './effect.ts';
import { DESK_WORDS } from './words.ts';

/** A message fails before its alert is entered; a gateway that was away enters it late. */
const BEFORE_MS = 600_000;

/** Puts back what has failed since the incident began, each message once. */
export const replay: Effect = {
  asks: replayQuestion,
  fixes: async (ports, incident, nowMs) => ({ of: await countReplayable(ports, meantBy(incident, nowMs)) }),
  async does(ports, { incident, noted, attribution }) {
    const filter = meantBy(incident, noted.atMs);
    await replayAll(ports, filter, attribution);
    const { of = 0 } = noted;
    const left = await countReplayable(ports, filter);
    return of === 0 ? DESK_WORDS.nothingToReplay : DESK_WORDS.replayed(Math.max(0, of - left), of);
  },
};

function replayQuestion({ cause, isOpen }: Incident): Question | undefined {
  if (cause === 'dead-letters') return DESK_WORDS.asksReplayAll;
  if (!isOpen || (cause !== 'provider' && cause !== 'fixed-parts')) return undefined;
  return DESK_WORDS.asksReplay;
}

/** The letters of an incident: those of its time, or all where they pile up. */
function meantBy({ cause, openedMs, isOpen, endedMs }: Incident, atMs: number): LetterFilter {
  if (cause === 'dead-letters') return { untilMs: atMs };
  return { sinceMs: openedMs - BEFORE_MS, untilMs: isOpen ? atMs : Math.min(endedMs ?? atMs, atMs) };
}
