import { utcClock } from '../../shared/base/wall-time.ts';
import { inSlices } from '../../shared/redis/stream.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type ActName, ALERT_WORDS } from './causes/words.ts';
import { actsFor } from './causes.ts';
import { hasLetters, type Incident, type NotedActs, openingOf, type WaitingMessage } from './incident.ts';

const BUTTONS_A_ROW = 2;
/** The acts on messages that failed, which outlast their incident. */
const OF_LETTERS: ReadonlySet<ActName> = new Set(['replay', 'deliver', 'close']);
/** The acts about the message that waits, or about its chat. */
const OF_WAITING: Readonly<Partial<Record<ActName, keyof WaitingMessage>>> = {
  ...{ retry: 'entry', pause: 'chat', cancel: 'entry' },
};

/** Whether this version knows an act. */
export function isAct(name: string): name is ActName {
  return Object.hasOwn(ALERT_WORDS.acts, name);
}

/** The acts that this version knows, as lines of the message about the incident, oldest first. Pure. */
export function actLines(acts: NotedActs = {}): string[] {
  return Object.entries(acts)
    .sort(([, one], [, other]) => one.atMs - other.atMs)
    .flatMap(([name, { result, by, atMs }]) => {
      if (!isAct(name) || name === 'close' || result === undefined) return [];
      return [ALERT_WORDS.done(result, by, utcClock(atMs))];
    });
}

/** What operators may do about an incident as it is now, the likeliest first. Pure. */
export function actsOf(incident: Incident): ActName[] {
  const { isOpen, waiting, cause } = incident;
  const acts = actsFor(cause);
  if (!isOpen)
    return hasLetters(cause) ? [...acts.filter((name) => name !== 'close' && OF_LETTERS.has(name)), 'close'] : [];
  return acts.filter((name) => waiting !== undefined || OF_WAITING[name] === undefined);
}

/**
 * The buttons under the message about an incident. Each sends the opening, the act, and the message or the chat that it is
 * about, in 64 bytes at most. Pure.
 */
export function buttonsOf(incident: Incident): readonly (readonly Button[])[] {
  const { waiting, isOpen } = incident;
  const hasFailed = mayHaveLetters(incident);
  const acts = actsOf(incident).filter((name) => hasFailed || !OF_LETTERS.has(name) || (isOpen && name === 'close'));
  const buttons = acts.map((name): Button => {
    const field = OF_WAITING[name];
    const about = field === undefined ? '' : ` ${waiting?.[field]}`;
    const text = `${ALERT_WORDS.acts[name]}${name === 'pause' ? ` ${waiting?.chat}` : ''}`;
    const command = `/desk act ${openingOf(incident)} ${name}${about}`;
    return { text, command, ...(name === 'cancel' && { destroys: true }) };
  });
  return [...inSlices(buttons, BUTTONS_A_ROW)];
}

/** Whether there are messages to replay: those of an incident that has just opened are not counted yet. */
function mayHaveLetters({ letters, isOpen, messages }: Incident): boolean {
  return letters === undefined ? isOpen && messages > 0 : letters.left > 0;
}
