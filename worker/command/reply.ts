import type { Change } from '../../shared/state/change.ts';
import type { Button } from '../../shared/telegram/messages.ts';

import { conclude, type Ending } from '../lane/verdict.ts';
import { MESSAGE_CHARS_MAX, splitReply } from '../reply/split.ts';

/** What a reply to a command has besides its text. */
interface Further {
  buttons?: readonly (readonly Button[])[];
  /** What is stored with it. */
  commands?: Change[];
}

/** How a command ends: with a text of any length, and what is stored in the same step. Pure. */
export function replied(name: string, text: string, { buttons, commands = [] }: Further = {}): Ending {
  const parts = text.length <= MESSAGE_CHARS_MAX ? [text] : splitReply(text);
  return conclude(
    { outcome: 'command', reason: name, parts, ...(buttons && buttons.length > 0 && { buttons }) },
    { changes: commands },
  );
}
