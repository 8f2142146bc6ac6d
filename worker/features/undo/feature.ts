import { type Inline, type Part, paragraph, plain } from '../../../shared/flow/reply.ts';
import type { Conclusion } from '../../../shared/state/turn/record.ts';
import type { Feature } from '../../feature.ts';
import { entityParts, textOf } from '../../reply/format/layout.ts';

/**
 * Lists below the reply, in full, the changes that the model made while it answered, each with an undo button. People must see
 * the changes, because a page or a tool's result may have talked the model into them.
 */
export const undoFeature: Feature = {
  name: 'undo',
  async beforeConclude(turn, conclusion, { calledNothing }) {
    const isIdle = calledNothing && turn.merge.reportsFor.length === 0;
    if (isIdle || conclusion.outcome === 'command' || conclusion.outcome === 'merged') return conclusion;
    // `/forget` has erased all changes, so there is nothing to undo.
    if (conclusion.reason === 'forget') return conclusion;
    const { features } = turn.env;
    const lists = await Promise.all(features.map((each) => each.listUndoableChanges?.(turn, turn.entries) ?? []));
    const groups = lists.flat().filter(({ lines }) => lines.length > 0);
    if (groups.length === 0) return conclusion;
    const list: Inline[] = [];
    let place = 0;
    for (const { lines, title } of groups) {
      list.push(plain(`${list.length === 0 ? '' : '\n\n'}${title}`));
      for (const line of lines) list.push(plain(`\n${++place}. `), ...line);
    }
    const undo = groups
      .flatMap(({ commands }) => commands)
      .map((command, at) => [{ text: turn.texts.undoButton(at + 1), command }]);
    const parts = entityParts([paragraph(...list)]);
    return { ...withParts(conclusion, parts), buttons: [...(conclusion.buttons ?? []), ...undo] };
  },
};

/** Inserts parts before the final files, so that the last inserted part has the buttons. Without a layout, appends texts. */
function withParts({ parts, layout, ...conclusion }: Conclusion, added: readonly Part[]): Conclusion {
  const at = 1 + parts.findLastIndex((_, index) => layout?.[index]?.path !== 'file');
  const newLayout = layout && { layout: layout.toSpliced(at, 0, ...added) };
  return { ...conclusion, parts: parts.toSpliced(at, 0, ...added.map(textOf)), ...newLayout };
}
