import { stripTypeScriptTypes } from 'node:module';
import { seededRandom } from '../../fixture/random.ts';
import { read, sourcesIn } from '../../house/sources.ts';

/** One small change of a line of the product. */
export interface RandomMutant {
  file: string;
  /** From 1. */
  line: number;
  kind: Kind;
  before: string;
  after: string;
}

type Kind = 'condition' | 'statement' | 'constant';
type Change = (line: string, random: () => number) => string | undefined;

const PRODUCT = ['producer', 'worker', 'shared', 'setup'];
const NO_CODE = /^(?:\s*(?:\/\/|\/?\*|--)|import |\} from )/;
/** A statement on one line that declares, returns and leaves nothing. */
const STATEMENT =
  /^\s+(?!const |let |return\b|import |export |type |throw |break\b|continue\b|case |local |end\b)[\w$.[\]!(]+.*[;)]$/;
const OPPOSITES: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '==': '~=',
  '~=': '==',
  '<=': '>',
  '>=': '<',
  '<': '>=',
  '>': '<=',
  '&&': '||',
  '||': '&&',
};
const OPERATOR = /(?<= )(?:===|!==|==|~=|<=|>=|<|>|&&|\|\|)(?= )/g;
/** A text with a space is prose: no test holds the words of a log line. */
const CONSTANT = /(?<![\w.$])\d[\d_]*(?:\.\d+)?(?![\w.])|\btrue\b|\bfalse\b|'[^'\\\s]*'/g;

const CHANGES: Readonly<Record<Kind, Change>> = {
  condition(line, random) {
    const whole = /^(\s*(?:\} else )?(?:if|while) )\((.+)\)( .*)?$/.exec(line);
    if (whole && isBalanced(whole[2] ?? '') && random() < 0.5) return `${whole[1]}(!(${whole[2]}))${whole[3] ?? ''}`;
    return replaceOne(line, OPERATOR, random, (found) => OPPOSITES[found] ?? found);
  },
  statement: (line) => (STATEMENT.test(line) && isBalanced(line) ? '' : undefined),
  constant: (line, random) => replaceOne(line, CONSTANT, random, otherConstant),
};

/** Draws different mutants without end, the same for a seed: of a random line, a random change that leaves valid code. */
export function* drawMutants(seed: number): Generator<RandomMutant> {
  const random = seededRandom(seed);
  const lines = PRODUCT.flatMap((folder) => sourcesIn(folder, /\.(?:ts|lua)$/)).flatMap((file) =>
    read(file)
      .split('\n')
      .map((text, at) => ({ file, at, text })),
  );
  const drawn = new Set<string>();
  for (;;) {
    const { file, at, text } = lines[Math.floor(random() * lines.length)] ?? { file: '', at: 0, text: '' };
    const kinds = Object.keys(CHANGES) as Kind[];
    const kind = kinds[Math.floor(random() * kinds.length)] ?? 'condition';
    const after = NO_CODE.test(text) ? undefined : CHANGES[kind](text, random);
    const name = `${file}:${at} ${after}`;
    if (after === undefined || drawn.has(name) || !isOtherCode(file, at, after)) continue;
    drawn.add(name);
    yield { file, line: at + 1, kind, before: text, after };
  }
}

/** The file with the mutant in it. */
export function mutated({ file, line, after }: Pick<RandomMutant, 'file' | 'line' | 'after'>): string {
  return read(file)
    .split('\n')
    .with(line - 1, after)
    .join('\n');
}

/** Whether the change leaves a program, and another one: a type is no code. */
function isOtherCode(file: string, at: number, after: string): boolean {
  if (file.endsWith('.lua')) return true;
  const compact = (text: string) => stripTypeScriptTypes(text).replaceAll(/\s+/g, '');
  try {
    return compact(mutated({ file, line: at + 1, after })) !== compact(read(file));
  } catch {
    return false;
  }
}

function replaceOne(
  line: string,
  pattern: RegExp,
  random: () => number,
  other: (found: string) => string,
): string | undefined {
  const found = [...line.matchAll(pattern)];
  const chosen = found[Math.floor(random() * found.length)];
  if (chosen === undefined) return undefined;
  const end = chosen.index + chosen[0].length;
  return line.slice(0, chosen.index) + other(chosen[0]) + line.slice(end);
}

/** A constant that is clearly another one, so that tuning by a little counts for nothing. */
function otherConstant(found: string): string {
  if (found.startsWith("'")) return found === "''" ? "'other'" : "''";
  if (found === 'true' || found === 'false') return String(found === 'false');
  const value = Number(found.replaceAll('_', ''));
  return value === 0 ? '1' : value === 1 ? '0' : String(value * 10);
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const letter of text) {
    if ('([{'.includes(letter)) depth += 1;
    if (')]}'.includes(letter)) depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}
