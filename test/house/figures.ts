import { dirname } from 'node:path';
import { everything, functionsOf, linesOf, ownImports, percentile, product, read, sourcesIn } from './sources.ts';

/** How large the house is, and how far one has to walk in it. */
export interface Figures {
  productLines: number;
  productFiles: number;
  testLines: number;
  /** Files outside of `shared/state/` with a command, a key or a script of Redis, and how many they have. */
  rawCommands: number;
  filesWithRawCommands: number;
  /** Files of our own that one file imports, at most. */
  importsMax: number;
  /** Types that are named `…Ports`: an interface to the outside has another name, and a service is in the env. */
  portsTypes: number;
  exportedTypes: number;
  /** Files of at most 60 lines that only one file of their own folder uses. */
  oneNeighbourFiles: number;
  fileMedian: number;
  fileMax: number;
  functionMedian: number;
  functionP90: number;
  functionMax: number;
}

const SMALL_LINES = 60;
const WITH_LUA = /\.(?:ts|lua|mjs)$/;
/** A command as words, a call of a client's command by a key, a key, a script. */
const RAW = [
  /\['(?:H|X|S(?!IG)|Z|DEL|EXP|INCR|PEXP|GET|UNLINK|L|R)[A-Z]*', /g,
  /\.(?:h(?:get|set|mget|getall|del|exists|len|incrby|scan)|x(?:add|range|revrange|len|del|pending|read\w*|info|trim)|z(?:add|range\w*|rem\w*|score|card|count)|s(?:add|rem|members|card|ismember|scan)|l(?:push|range|len|pop|rem|trim)|r(?:push|pop)|expire|pexpire|unlink|mget|incr(?:by)?)\(/g,
  /\bbindScript[<(]/g,
];
/** The rooms that talk to Redis itself, and not to the state. */
const CLIENTS = /^shared\/(?:redis|private-redis|state)\//;

/** Reads the figures off the sources. */
export function measureHouse(): Figures {
  const all = ['producer', 'worker', 'shared', 'setup', 'scripts'].flatMap((folder) => sourcesIn(folder, WITH_LUA));
  const raw = product.filter((file) => !CLIENTS.test(file)).map(rawCommandsIn);
  const functions = product.flatMap((file) => functionsOf(file).map(({ lines }) => lines));
  const files = product.map(linesOf);
  return {
    productLines: sum(all.map(linesOf)) + linesOf('spillway.ts'),
    productFiles: all.length + 1,
    testLines: sum(sourcesIn('test', WITH_LUA).map(linesOf)),
    rawCommands: sum(raw),
    filesWithRawCommands: raw.filter((count) => count > 0).length,
    importsMax: Math.max(...product.map((file) => ownImports(file).length)),
    portsTypes: countIn(product, /^\s*(?:export )?(?:interface|type) \w*Ports\b/gm),
    exportedTypes: countIn(product, /^export (?:interface|type) \w/gm),
    oneNeighbourFiles: oneNeighbourFiles().length,
    fileMedian: percentile(files, 0.5),
    fileMax: Math.max(...files),
    functionMedian: percentile(functions, 0.5),
    functionP90: percentile(functions, 0.9),
    functionMax: Math.max(...functions),
  };
}

/** The lines of each room, the largest first. */
export function linesByRoom(): [room: string, lines: number, files: number][] {
  const rooms = Map.groupBy(
    ['producer', 'worker', 'shared', 'setup', 'scripts'].flatMap((folder) => sourcesIn(folder, WITH_LUA)),
    dirname,
  );
  return [...rooms]
    .map(([room, files]): [string, number, number] => [room, sum(files.map(linesOf)), files.length])
    .sort(([, one], [, other]) => other - one);
}

export function rawCommandsIn(file: string): number {
  const text = read(file);
  return sum(RAW.map((pattern) => text.match(pattern)?.length ?? 0));
}

/** Small files that a reader always opens together with the only neighbour that uses them. */
export function oneNeighbourFiles(): string[] {
  const users = new Map<string, string[]>();
  for (const file of everything.filter((each) => !each.startsWith('test/')))
    for (const target of ownImports(file)) users.set(target, [...(users.get(target) ?? []), file]);
  return product.filter((file) => {
    const [only, ...more] = users.get(file) ?? [];
    return only !== undefined && more.length === 0 && dirname(only) === dirname(file) && linesOf(file) <= SMALL_LINES;
  });
}

/** How often a pattern matches in files together. */
function countIn(files: readonly string[], pattern: RegExp): number {
  return sum(files.map((file) => read(file).match(pattern)?.length ?? 0));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
