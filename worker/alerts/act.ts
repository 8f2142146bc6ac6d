import { utcClock } from '../../shared/base/wall-time.ts';
import { inSlices } from '../../shared/redis/stream.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type ActName, ALERT_WORDS } from './causes/words.ts';
import { actsFor } from './causes.ts';
import { hasLetters, type Incident, type NotedActs, openingOf, type WaitingMessage } from './incident.ts';

const BUTTONS_A_ROW = 2;
/** Actions on failed messages. Their buttons stay after the incident ends. */
const LETTER_ACTS: ReadonlySet<ActName> = new Set(['replay', 'deliver', 'close']);
/** For each action on the oldest waiting message: the field with its subject, the message or its chat. */
const SUBJECT_FIELDS: Readonly<Partial<Record<ActName, keyof WaitingMessage>>> = {
  retry: 'entry',
  pause: 'chat',
  cancel: 'entry',
};

/** Whether this version knows the action. */
export function isAct(name: string): name is ActName {
  return Object.hasOwn(ALERT_WORDS.acts, name);
}

/** Lines of the alert about the actions that operators took, oldest first, without unknown ones of other versions. Pure. */
export function actLines(acts: NotedActs = {}): string[] {
  return Object.entries(acts)
    .sort(([, one], [, other]) => one.atMs - other.atMs)
    .flatMap(([name, { result, by, atMs }]) => {
      if (!isAct(name) || name === 'close' || result === undefined) return [];
      return [ALERT_WORDS.done(result, by, utcClock(atMs))];
    });
}

/** The actions that operators can take on an incident in its present state, the likeliest first. Pure. */
export function actsOf(incident: Incident): ActName[] {
  const { isOpen, waiting, cause } = incident;
  const acts = actsFor(cause);
  if (!isOpen)
    return hasLetters(cause) ? [...acts.filter((name) => name !== 'close' && LETTER_ACTS.has(name)), 'close'] : [];
  return acts.filter((name) => waiting !== undefined || SUBJECT_FIELDS[name] === undefined);
}

/**
 * The buttons under the message about an incident. A button sends, in 64 bytes at most, the opening's id, the action, and
 * the entry or chat to act on. Pure.
 */
export function buttonsOf(incident: Incident): readonly (readonly Button[])[] {
  const { waiting, isOpen } = incident;
  const hasLettersLeft = canHaveLetters(incident);
  const acts = actsOf(incident).filter(
    (name) => hasLettersLeft || !LETTER_ACTS.has(name) || (isOpen && name === 'close'),
  );
  const buttons = acts.map((name): Button => {
    const field = SUBJECT_FIELDS[name];
    const subject = field === undefined ? '' : ` ${waiting?.[field]}`;
    const text = `${ALERT_WORDS.acts[name]}${name === 'pause' ? ` ${waiting?.chat}` : ''}`;
    const command = `/desk act ${openingOf(incident)} ${name}${subject}`;
    return { text, command, ...(name === 'cancel' && { destroys: true }) };
  });
  return [...inSlices(buttons, BUTTONS_A_ROW)];
}

/** Whether there may be messages to replay. The failed messages of a new incident have no count yet. */
function canHaveLetters({ letters, isOpen, messages }: Incident): boolean {
  return letters === undefined ? isOpen && messages > 0 : letters.left > 0;
}
