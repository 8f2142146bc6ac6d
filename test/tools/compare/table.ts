import { percentile } from '../bench/bench.ts';
import { shown } from '../bench/figure.ts';
import type { Verdict } from './judge.ts';
import type { Speed } from './speed.ts';

/** What was measured, by the name of the contender. */
export interface Compared {
  speeds: Readonly<Record<string, readonly Speed[]>>;
  faults: readonly { fault: string; verdicts: Readonly<Record<string, Verdict>> }[];
}

/** A row: what is measured, and what the gateway may take over the plain bot with BullMQ. */
interface Row {
  name: string;
  of: keyof Speed;
  unit: string;
  aim?: { of: 'ratio' | 'difference'; atMost?: number; atLeast?: number };
}

const ROWS: readonly Row[] = [
  { name: 'message to model, p50', of: 'toModelP50Ms', unit: 'ms', aim: { of: 'difference', atMost: 5 } },
  { name: 'the same, p95', of: 'toModelP95Ms', unit: 'ms', aim: { of: 'difference', atMost: 15 } },
  { name: 'model asked to first words in the chat, p50', of: 'firstWordsP50Ms', unit: 'ms' },
  {
    name: 'answers a second, 600 messages over 100 chats',
    of: 'perSecond',
    unit: '',
    aim: { of: 'ratio', atLeast: 0.7 },
  },
  { name: 'processor time of such a turn', of: 'cpuMsOfATurn', unit: 'ms', aim: { of: 'ratio', atMost: 1.5 } },
  { name: 'memory at rest', of: 'restMegabytes', unit: 'MB', aim: { of: 'ratio', atMost: 1.3 } },
  { name: 'memory under that load, at most', of: 'loadMegabytes', unit: 'MB', aim: { of: 'ratio', atMost: 1.5 } },
];
const OURS = 'Spillway';
const PLAIN = 'plain BullMQ';

/** Medians of all rounds, as a table in Markdown; the last columns compare the gateway with the plain bot with BullMQ. Pure. */
export function speedTable({ speeds }: Pick<Compared, 'speeds'>): string {
  const names = Object.keys(speeds);
  const median = (name: string, of: keyof Speed): number =>
    percentile(
      (speeds[name] ?? []).map((speed) => speed[of]),
      0.5,
    );
  const lines = ROWS.map(({ name, of, unit, aim }) => {
    const values = names.map((each) => `${shown(median(each, of))}${unit && ` ${unit}`}`);
    return cells([
      name,
      ...values,
      ...(names.includes(OURS) && names.includes(PLAIN) ? compared(aim, median(OURS, of), median(PLAIN, of)) : []),
    ]);
  });
  const more = names.includes(OURS) && names.includes(PLAIN) ? [`over ${PLAIN}`, 'aim'] : [];
  return [
    cells(['', ...names, ...more]),
    cells(Array.from({ length: 1 + names.length + more.length }, () => '---')),
    ...lines,
  ].join('\n');
}

function compared(aim: Row['aim'], ours: number, plain: number): string[] {
  const isDifference = aim?.of === 'difference';
  const value = isDifference ? ours - plain : ours / plain;
  const text = isDifference ? `${value < 0 ? '−' : '+'}${shown(Math.abs(value))} ms` : shown(value);
  if (aim === undefined) return [text, ''];
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = aim;
  const isMet = value <= atMost && value >= atLeast;
  const wanted =
    aim.atLeast === undefined ? `at most ${isDifference ? `+${atMost} ms` : atMost}` : `at least ${atLeast}`;
  return [text, isMet ? wanted : `${wanted}, missed`];
}

/** What became of the questions under each fault. Pure. */
export function faultTable({ faults }: Pick<Compared, 'faults'>): string {
  const names = [...new Set(faults.flatMap(({ verdicts }) => Object.keys(verdicts)))];
  const lines = faults.map(({ fault, verdicts }) => cells([fault, ...names.map((name) => inWords(verdicts[name]))]));
  return [cells(['', ...names]), cells(['', ...names].map(() => '---')), ...lines].join('\n');
}

function inWords(verdict: Verdict | undefined): string {
  if (verdict === undefined) return '';
  const { asked, answered, told, silent, doubled, reordered } = verdict;
  const faults = [
    ...(told > 0 ? [`${told} told of a failure`] : []),
    ...(silent > 0 ? [`**${silent} without a word**`] : []),
    ...(doubled > 0 ? [`${doubled} twice`] : []),
    ...(reordered > 0 ? [`${reordered} out of order`] : []),
  ];
  return [`${answered} of ${asked} answered`, ...faults].join(', ');
}

const cells = (all: readonly string[]): string => `| ${all.join(' | ')} |`;
