import { type Inline, type Part, paragraph, plain } from '../../../shared/flow/reply.ts';
import type { Conclusion } from '../../../shared/state/turn/record.ts';
import type { Feature } from '../../feature.ts';
import { entityParts, textOf } from '../../reply/format/layout.ts';

/**
 * Shows, in full and below a conclusion, what the model changed while it worked on the message: each with a button that
 * undoes it. A page or a tool's result may have talked it into any of it.
 */
export const undoFeature: Feature = {
  name: 'undo',
  async beforeConclude(turn, conclusion, { calledNothing }) {
    const isIdle = calledNothing && turn.merge.reportsFor.length === 0;
    if (isIdle || conclusion.outcome === 'command' || conclusion.outcome === 'merged') return conclusion;
    // Then all of it is erased.
    if (conclusion.reason === 'forget') return conclusion;
    const { features } = turn.env;
    const all = await Promise.all(features.map((each) => each.listUndoableChanges?.(turn, turn.entries) ?? []));
    const made = all.flat().filter(({ lines }) => lines.length > 0);
    if (made.length === 0) return conclusion;
    const shown: Inline[] = [];
    let place = 0;
    for (const { lines, title } of made) {
      shown.push(plain(`${shown.length === 0 ? '' : '\n\n'}${title}`));
      for (const line of lines) shown.push(plain(`\n${++place}. `), ...line);
    }
    const undo = made
      .flatMap(({ commands }) => commands)
      .map((command, at) => [{ text: turn.texts.undoButton(at + 1), command }]);
    const parts = entityParts([paragraph(...shown)]);
    return { ...withParts(conclusion, parts), buttons: [...(conclusion.buttons ?? []), ...undo] };
  },
};

/** Inserts parts behind the last part that is not a file, where the buttons stand. Without a layout they are plain text. */
function withParts({ parts, layout, ...conclusion }: Conclusion, further: readonly Part[]): Conclusion {
  const at = 1 + parts.findLastIndex((_, index) => layout?.[index]?.path !== 'file');
  const laid = layout && { layout: layout.toSpliced(at, 0, ...further) };
  return { ...conclusion, parts: parts.toSpliced(at, 0, ...further.map(textOf)), ...laid };
}
