import { type Block, type Inline, paragraph } from '../../shared/flow/reply.ts';
import type { Change } from '../../shared/state/change.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { CommandName } from '../../shared/telegram/commands.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { conclude, type Ending } from '../lane/verdict.ts';
import { entityParts, MESSAGE_CHARS_MAX, splitReply, textOf } from '../reply/format/layout.ts';

export type { CommandContext, CommandHandler } from '../env.ts';

/** Parts of a command's reply besides its text. */
interface Extras {
  buttons?: readonly (readonly Button[])[];
  /** Stored in one step with the reply. */
  changes?: Change[];
  /** The message that was pressed keeps its buttons. */
  keepsButtons?: true;
}

/** Buttons in rows of so many. Pure. */
export function inRows(buttons: readonly Button[], aRow: number): readonly (readonly Button[])[] {
  return Array.from({ length: Math.ceil(buttons.length / aRow) }, (_, row) =>
    buttons.slice(row * aRow, (row + 1) * aRow),
  );
}

/** Ends a command with a text of any length, or with one in which there is more than letters. Pure. */
export function replied(name: CommandName, text: string | readonly Inline[], extras: Extras = {}): Ending {
  return ended(name, typeof text === 'string' ? { parts: partsOf(text) } : formatted([paragraph(...text)]), extras);
}

/** Ends a command with blocks of any length. Pure. */
export function laidOut(name: CommandName, blocks: readonly Block[], extras: Extras = {}): Ending {
  return ended(name, formatted(blocks), extras);
}

function ended(
  name: CommandName,
  shown: Pick<Conclusion, 'parts' | 'layout'>,
  { buttons, changes = [], keepsButtons }: Extras,
) {
  const hasButtons = buttons !== undefined && buttons.length > 0;
  const below = { ...(hasButtons && { buttons }), ...(keepsButtons && { keepsButtons }) };
  return conclude({ outcome: 'command', reason: name, ...shown, ...below }, { changes });
}

function partsOf(text: string): string[] {
  return text.length <= MESSAGE_CHARS_MAX ? [text] : splitReply(text);
}

function formatted(blocks: readonly Block[]): Pick<Conclusion, 'parts' | 'layout'> {
  const layout = entityParts(blocks);
  return { parts: layout.map(textOf), layout };
}
