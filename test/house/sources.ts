import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/** The folder of the checkout. */
export const root = join(import.meta.dirname, '..', '..');

/** The sources of the product and of what is run beside it; TypeScript, and Lua where it is asked for. */
export const product = ['producer', 'worker', 'shared', 'setup']
  .flatMap((folder) => sourcesIn(folder))
  .concat('spillway.ts');
export const everything = [...product, ...sourcesIn('test')];

/** The files of a folder that end so, by their path in the checkout. */
export function sourcesIn(folder: string, ending = /\.ts$/): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file))
    .map((file) => join(folder, file));
}

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

export function linesOf(file: string): number {
  return read(file).split('\n').length - 1;
}

/** Files whose values a file imports, at once or late; types bind nothing. */
export function valueImports(file: string): string[] {
  const late = lateImports(file).filter((target) => target.startsWith('.'));
  return [...importsAtOnce(file).files, ...late.map((target) => resolved(file, target))];
}

/** The files and the packages whose values a file imports as it is loaded. */
export function importsAtOnce(file: string): { files: string[]; packages: string[] } {
  const imports = read(file).matchAll(/^(?:import|export) (?!type\b)([^;]*?)from '([^']+)';/gms);
  const targets = [...imports]
    .filter(([, names]) => !/^\{(?:\s*type [^,}]+,?)+\s*\}\s*$/.test(names ?? ''))
    .map(([, , target = '']) => target);
  const packages = targets.flatMap((target) => /^(?:@[\w-]+\/)?[\w-]+(?=\/|$)/.exec(target)?.[0] ?? []);
  return {
    files: targets.filter((target) => target.startsWith('.')).map((target) => resolved(file, target)),
    packages,
  };
}

/** Our own files that a file imports, for values or for types. */
export function ownImports(file: string): string[] {
  const imports = read(file).matchAll(/^(?:import|export) [^;]*?from '(\.[^']+)';/gms);
  return [...new Set([...imports].map(([, target = '']) => resolved(file, target)))];
}

/** What a file loads only when it is first needed. */
export function lateImports(file: string): string[] {
  return [...read(file).matchAll(/\bimport\(([^)]*)\)/g)].map(([, target = '']) => target.replace(/^'(.*)'$/, '$1'));
}

function resolved(file: string, target: string): string {
  return relative(root, normalize(join(root, dirname(file), target)));
}

/** Functions with their length, read off the formatter's indentation. */
export function functionsOf(file: string): { name: string; lines: number }[] {
  const lines = read(file).split('\n');
  return lines.flatMap((line, start) => {
    const opens =
      /^(\s*)(?:export )?(?:async )?(?:function\*? (\w+)|(?:const (\w+) = )?.*=> \{$|(?:async )?(\w+)\(.*\{$)/.exec(
        line,
      );
    if (!opens || /^\s*(?:if|for|while|switch|describe|return|expect)\b/.test(line)) return [];
    const indent = opens[1] ?? '';
    // A parameter list of several lines ends with a brace of its own: the body ends behind it.
    const end = lines.findIndex(
      (other, index) => index > start && other.startsWith(`${indent}}`) && !/[:|]/.test(other),
    );
    return end === -1 ? [] : [{ name: opens[2] ?? opens[3] ?? opens[4] ?? 'anonymous', lines: end - start + 1 }];
  });
}

/** The value that this share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
}
