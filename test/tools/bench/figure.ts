import { percentile } from './bench.ts';

/** What a figure must reach. */
type Aim = { atLeast: number } | { atMost: number };

/** A figure: a ratio or a duration of one run. */
export interface Figure {
  readonly name: string;
  /** What the number counts: `ms`, `MB`. A ratio has none. */
  readonly unit?: string;
  /** Without one, the figure is only stated. */
  readonly aim?: Aim;
}

/** Where a measure runs. */
export interface Ground {
  /** A private Redis, with its append-only file synced every second. A measure empties it. */
  readonly redisUrl: string;
  /** The folder of another version of the project, to be measured beside this one. */
  readonly before: string | undefined;
}

/** One kind of work that is measured, and the figures that it yields. */
export interface Measure {
  /** For `--only`. */
  readonly name: string;
  readonly figures: Readonly<Record<string, Figure>>;
  /** Whether this ground has what it needs. Default: always. */
  readonly isPossible?: (ground: Ground) => boolean;
  /**
   * Does the work once. Both sides of a ratio belong to one call, because the machine changes between calls. What it
   * returns beside its figures are the numbers behind them. Rejects when the work does not end.
   */
  take(ground: Ground): Promise<Readonly<Record<string, number>>>;
}

/** A figure after all rounds. */
export interface Result extends Figure {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** Whether the median reaches the aim; `undefined` without an aim. */
  readonly isMet: boolean | undefined;
}

/** What a measure yielded in all rounds. */
export interface Taken {
  readonly results: readonly Result[];
  /** The median of each number behind the figures. */
  readonly behind: Readonly<Record<string, number>>;
}

/** Takes a measure `rounds` times. */
export async function takeRounds(measure: Measure, ground: Ground, rounds: number): Promise<Taken> {
  const taken: Readonly<Record<string, number>>[] = [];
  for (let round = 0; round < rounds; round++) taken.push(await measure.take(ground));
  const valuesOf = (key: string): number[] => taken.map((values) => values[key] ?? Number.NaN);
  const results = Object.entries(measure.figures).map(([key, figure]) => resultOf(figure, valuesOf(key)));
  const others = Object.keys(taken[0] ?? {}).filter((key) => !(key in measure.figures));
  return { results, behind: Object.fromEntries(others.map((key) => [key, percentile(valuesOf(key), 0.5)])) };
}

function resultOf(figure: Figure, values: readonly number[]): Result {
  const median = percentile(values, 0.5);
  return {
    ...figure,
    median,
    least: Math.min(...values),
    most: Math.max(...values),
    isMet: figure.aim && reaches(figure.aim, median),
  };
}

function reaches(aim: Aim, value: number): boolean {
  return 'atLeast' in aim ? value >= aim.atLeast : value <= aim.atMost;
}

/** A line of the table: whether it is met, the median, the spread, the aim. */
export function lineOf({ name, unit = '', aim, median, least, most, isMet }: Result): string {
  const verdict = isMet === undefined ? '      ' : isMet ? 'ok    ' : 'MISSED';
  const value = `${shown(median)} (${shown(least)} to ${shown(most)})${unit && ` ${unit}`}`;
  const wanted = aim === undefined ? '' : 'atLeast' in aim ? `at least ${aim.atLeast}` : `at most ${aim.atMost}`;
  return `${verdict} ${name.padEnd(62)} ${value.padEnd(30)} ${wanted}`.trimEnd();
}

/** A number with as many digits as say something. Pure. */
export function shown(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}
