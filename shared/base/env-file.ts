import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** The contents of a settings file. */
export interface EnvFile {
  readonly values: Readonly<Record<string, string>>;
  /** Each with the file and the line. They never quote a line, which may hold a secret. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const IGNORED = /^\s*(?:#|$)/;
const NAMED = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$/;
const EXPECTED = 'expected NAME=value, or a comment that begins with #';
/**
 * A quoted value ends with its line, with nothing but a comment behind it. A shell would run what stands in backticks.
 */
const QUOTED = /^(["'])(?:(?!\1).)*\1\s*(?:#.*)?$/;
/** Shells and Compose read such a # as a part of the value, and Node as the beginning of a comment. */
const INNER_HASH = /^[^#]*[^\s#]#/;
/** Whether a setting of that name is a secret. Pure. */
export const isSecretName = (name: string): boolean => /(?:TOKEN|KEY|SECRET|PASSWORD)$/.test(name);
const READABLE_BY_ALL = 0o004;

/**
 * Reads the lines `NAME=value`, with an optional `export`, quotes and comments; the last of a repeated name counts.
 * Lines that programs read differently are problems. Pure.
 */
export function parseEnvFile(text: string, file: string): Pick<EnvFile, 'values' | 'problems'> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const faults = lines.map(faultOf);
  const problems = faults.flatMap((fault, at) => (fault === undefined ? [] : [`${file} line ${at + 1}: ${fault}`]));
  const sound = lines.filter((_, at) => faults[at] === undefined);
  return { values: { ...parseEnv(sound.join('\n')) } as Record<string, string>, problems };
}

/** Reads a settings file; undefined when there is none. One that cannot be read is a problem; never throws. */
export function readEnvFile(file: string): EnvFile | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    const parsed = parseEnvFile(text, file);
    return {
      ...parsed,
      warnings: [...(isExposed(file, parsed.values) ? [exposed(file)] : []), ...repeats(text, file)],
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    return { values: {}, problems: [`${file} cannot be read (${code ?? 'unknown'})`], warnings: [] };
  }
}

function faultOf(line: string): string | undefined {
  if (IGNORED.test(line)) return undefined;
  const value = NAMED.exec(line)?.[2];
  if (value === undefined) return EXPECTED;
  if (/^["'`]/.test(value)) {
    return QUOTED.test(value) ? undefined : 'expected a value in \' or " that are closed at the end of its line';
  }
  return INNER_HASH.test(value) ? 'expected quotes around a value that holds a #' : undefined;
}

/** The names that stand in several lines: whoever changes the first of them wonders why nothing changes. */
function repeats(text: string, file: string): string[] {
  const places = new Map<string, number[]>();
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const name = IGNORED.test(line) ? undefined : NAMED.exec(line)?.[1];
    if (name !== undefined) places.set(name, [...(places.get(name) ?? []), at + 1]);
  }
  const several = [...places].filter(([, lines]) => lines.length > 1);
  return several.map(([name, lines]) => `${file}: ${name} is in lines ${lines.join(' and ')}; the last one counts`);
}

/** Whether other users of the machine can read secrets in it. Windows has no such bits. */
function isExposed(file: string, values: Readonly<Record<string, string>>): boolean {
  const hasSecrets = Object.entries(values).some(([name, value]) => value !== '' && isSecretName(name));
  return hasSecrets && process.platform !== 'win32' && (statSync(file).mode & READABLE_BY_ALL) !== 0;
}

function exposed(file: string): string {
  return `${file} holds secrets and every user of this machine can read it: chmod 600 ${file}`;
}
