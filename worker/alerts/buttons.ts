import { createHash } from 'node:crypto';
import { inSlices } from '../../shared/redis/stream.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import type { WaitingMessage } from './act.ts';
import { type ActName, labelOf } from './causes/acts.ts';
import { actsFor } from './causes.ts';
import { type Incident, openingOf } from './incident.ts';

const BUTTONS_A_ROW = 2;
const TAG_CHARS = 6;
/** What can still be done about an incident once it is over. */
const AFTERWARDS: ReadonlySet<ActName> = new Set(['replay', 'deliver']);
const OF_A_MESSAGE: ReadonlySet<ActName> = new Set(['retry', 'pause', 'cancel']);

/** What operators may do about an incident as it is now, the likeliest first. Pure. */
export function actsOf(incident: Incident): ActName[] {
  const { isOpen, waiting } = incident;
  return actsFor(incident).filter((name) => {
    if (!isOpen) return AFTERWARDS.has(name);
    return !OF_A_MESSAGE.has(name) || waiting !== undefined;
  });
}

/**
 * The buttons under the message about an incident. Each names the opening, the act, how often that was done before it was
 * drawn, and a tag of the message that it is about: what it says is what it does, or it does nothing. Pure.
 */
export function buttonsOf(incident: Incident): readonly (readonly Button[])[] {
  const buttons = actsOf(incident).map((name): Button => {
    const { waiting } = incident;
    return {
      text: labelOf(name, waiting?.chat),
      command: commandOf(incident, name, waiting),
      ...(name === 'cancel' && { destroys: true }),
    };
  });
  return [...inSlices(buttons, BUTTONS_A_ROW)];
}

/** What the button of an act sends, of 64 bytes at most. Pure. */
export function commandOf(incident: Incident, name: ActName, about: WaitingMessage | undefined): string {
  const done = incident.acts?.[name]?.n ?? 0;
  const tag = OF_A_MESSAGE.has(name) && about !== undefined ? ` ${tagOf(about)}` : '';
  return `/desk do ${openingOf(incident)} ${name} ${done}${tag}`;
}

/** Tells a message that waits from another one. Pure. */
export function tagOf({ chat, entry }: WaitingMessage): string {
  return createHash('sha256').update(`${chat} ${entry}`).digest('hex').slice(0, TAG_CHARS);
}
