import type { QuestionKind } from './chat.ts';
import { WAYS, type Way } from './shown.ts';

/** A question, and the ways after which it could be answered. */
export interface Answered {
  kind: QuestionKind;
  language: string;
  ways: readonly Way[];
}

/** The questions of one kind in one language, and what share of them each way leaves answerable: 0 to 1. */
export interface Row {
  kind: QuestionKind;
  language: string;
  questions: number;
  shares: Readonly<Record<Way, number>>;
}

/** A row for each kind and language, in their order. Pure. */
export function rowsOf(answered: readonly Answered[]): Row[] {
  const groups = Map.groupBy(answered, ({ kind, language }) => `${kind}, ${language}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const share = (way: Way): number => group.filter(({ ways }) => ways.includes(way)).length / group.length;
    const shares = Object.fromEntries(WAYS.map((way) => [way, share(way)])) as Record<Way, number>;
    return [{ kind: first.kind, language: first.language, questions: group.length, shares }];
  });
}

/** The rows as a table in Markdown. Pure. */
export function tableOf(rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(['question', 'language', 'asked', ...WAYS]),
    line(['---', '---', '---:', ...WAYS.map(() => '---:')]),
    ...rows.map(({ kind, language, questions, shares }) =>
      line([kind, language, String(questions), ...WAYS.map((way) => `${Math.round(shares[way] * 100)} %`)]),
    ),
  ].join('\n');
}
