import { utcClock } from '../../shared/base/wall-time.ts';
import { inSlices } from '../../shared/redis/stream.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type ActName, ALERT_WORDS } from './causes/words.ts';
import { actsFor } from './causes.ts';
import { hasLetters, type Incident, type NotedActs, openingOf, type WaitingMessage } from './incident.ts';

const BUTTONS_A_ROW = 2;
/** Actions on failed messages. After an incident has ended, only these have buttons. */
const LETTER_ACTS: ReadonlySet<ActName> = new Set(['replay', 'deliver', 'close']);
/** For each action on the oldest waiting message or on that message's chat: the field that names the message or chat. */
const SUBJECT_FIELDS: Readonly<Partial<Record<ActName, keyof WaitingMessage>>> = {
  retry: 'entry',
  pause: 'chat',
  cancel: 'entry',
};

/** Whether this version knows the action. */
export function isAct(name: string): name is ActName {
  return Object.hasOwn(ALERT_WORDS.acts, name);
}

/** A line for each action, oldest action first. Skips `close`, unknown actions and actions without a result. Pure. */
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
  const { isOpen, waiting, cause, acts: done } = incident;
  const acts = actsFor(cause);
  if (!isOpen && !hasLetters(cause)) return [];
  if (!isOpen) {
    const repairs = acts.filter((name) => name !== 'close' && LETTER_ACTS.has(name));
    return done?.close === undefined ? [...repairs, 'close'] : repairs;
  }
  return acts.filter((name) => waiting !== undefined || SUBJECT_FIELDS[name] === undefined);
}

/**
 * The buttons under the message about an incident, in rows of two. The command of a button names the opening of the incident,
 * the action and, for some actions, the entry or chat to act on. The command must fit into Telegram's 64 bytes. Pure.
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

/** Whether there may be failed messages to replay. Messages of a new incident may have failed without being counted yet. */
function canHaveLetters({ letters, isOpen, messages }: Incident): boolean {
  return letters === undefined ? isOpen && messages > 0 : letters.left > 0;
}
