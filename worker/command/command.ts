import { type Block, type Inline, paragraph } from '../../shared/flow/reply.ts';
import type { Change } from '../../shared/state/change.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import type { CommandName } from '../../shared/telegram/commands.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { conclude, type Ending } from '../lane/verdict.ts';
import { entityParts, MESSAGE_CHARS_MAX, splitReply, textOf } from '../reply/format/layout.ts';

export type { CommandContext, CommandHandler } from '../env.ts';

/** The options of a command's reply. */
interface Extras {
  buttons?: readonly (readonly Button[])[];
  /** Changes to store in one step with the reply. */
  changes?: Change[];
  /** The message whose button the sender pressed keeps its buttons. */
  keepsButtons?: true;
}

/** Splits buttons into rows of `aRow` buttons. The last row may be shorter. Pure. */
export function inRows(buttons: readonly Button[], aRow: number): readonly (readonly Button[])[] {
  return Array.from({ length: Math.ceil(buttons.length / aRow) }, (_, row) =>
    buttons.slice(row * aRow, (row + 1) * aRow),
  );
}

/** Ends a command with a plain text of any length, or with a formatted paragraph. Pure. */
export function replied(name: CommandName, text: string | readonly Inline[], extras: Extras = {}): Ending {
  const content = typeof text === 'string' ? { parts: partsOf(text) } : contentOf([paragraph(...text)]);
  return endWith(name, content, extras);
}

/** Ends a command with blocks of any length. Pure. */
export function laidOut(name: CommandName, blocks: readonly Block[], extras: Extras = {}): Ending {
  return endWith(name, contentOf(blocks), extras);
}

function endWith(
  name: CommandName,
  content: Pick<Conclusion, 'parts' | 'layout'>,
  { buttons, changes = [], keepsButtons }: Extras,
) {
  const hasButtons = buttons !== undefined && buttons.length > 0;
  const below = { ...(hasButtons && { buttons }), ...(keepsButtons && { keepsButtons }) };
  return conclude({ outcome: 'command', reason: name, ...content, ...below }, { changes });
}

function partsOf(text: string): string[] {
  return text.length <= MESSAGE_CHARS_MAX ? [text] : splitReply(text);
}

function contentOf(blocks: readonly Block[]): Pick<Conclusion, 'parts' | 'layout'> {
  const layout = entityParts(blocks);
  return { parts: layout.map(textOf), layout };
}
