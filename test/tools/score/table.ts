import type { QuestionKind } from './chat.ts';
import { WAYS, type Way } from './shown.ts';

/** A question, and the ways after which it could be answered. */
export interface Answered {
  kind: QuestionKind;
  language: string;
  ways: readonly Way[];
}

/** A row in Markdown for each kind and language, in their order: the share of questions that each way leaves answerable. Pure. */
export function tableOf(answered: readonly Answered[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const groups = Map.groupBy(answered, ({ kind, language }) => line([kind, language]));
  const rows = [...groups].map(([head, group]) => {
    const share = (way: Way): number => group.filter(({ ways }) => ways.includes(way)).length / group.length;
    const shares = WAYS.map((way) => `${Math.round(share(way) * 100)} %`);
    return `${head} ${[group.length, ...shares].join(' | ')} |`;
  });
  return [
    line(['question', 'language', 'asked', ...WAYS]),
    line(['---', '---', '---:', ...WAYS.map(() => '---:')]),
    ...rows,
  ].join('\n');
}
