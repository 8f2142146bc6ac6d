import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';

/** The contents of a settings file. */
export interface EnvFile {
  readonly values: Readonly<Record<string, string>>;
  /** Each problem names the file and perhaps the number of a line, but never quotes a line, because it may hold a secret. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const IGNORED = /^\s*(?:#|$)/;
const NAMED = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$/;
/** A quoted value, perhaps followed by a comment. Backticks do not count as quotes, because a shell runs the text in them. */
const QUOTED = /^(["'])(?:(?!\1).)*\1\s*(?:#.*)?$/;
/** A value whose first # follows a non-space. Shells and Compose read this # as a part of the value, Node as a comment. */
const INNER_HASH = /^[^#]*[^\s#]#/;
/** Whether the value of a setting is a secret, judged by the end of the setting's name. Pure. */
export const isSecretName = (name: string): boolean => /(?:TOKEN|KEY|SECRET|PASSWORD)$/.test(name);
const READABLE_BY_ALL = 0o004;

/**
 * Parses lines of the form `NAME=value`, with an optional `export`, quotes and comments. If a name repeats, its last line
 * counts. A malformed line, or a line that shells, Compose and Node read differently, is a problem and sets nothing. Pure.
 */
export function parseEnvFile(text: string, file: string): Pick<EnvFile, 'values' | 'problems'> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const faults = lines.map(faultOf);
  const problems = faults.flatMap((fault, at) => (fault === undefined ? [] : [`${file} line ${at + 1}: ${fault}`]));
  const sound = lines.filter((_, at) => faults[at] === undefined);
  return { values: { ...parseEnv(sound.join('\n')) } as Record<string, string>, problems };
}

/** Reads a settings file; `undefined` if the file does not exist. An unreadable file gives a problem. Never throws. */
export function readEnvFile(file: string): EnvFile | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    const parsed = parseEnvFile(text, file);
    return { ...parsed, warnings: [...exposureWarnings(parsed.values, file), ...repeatWarnings(text, file)] };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    return { values: {}, problems: [`${file} cannot be read (${code ?? 'unknown'})`], warnings: [] };
  }
}

function faultOf(line: string): string | undefined {
  if (IGNORED.test(line)) return undefined;
  const value = NAMED.exec(line)?.[2];
  if (value === undefined) return 'expected NAME=value, or a comment that begins with #';
  if (/^["'`]/.test(value))
    return QUOTED.test(value) ? undefined : 'expected a value in \' or " that are closed at the end of its line';
  return INNER_HASH.test(value) ? 'expected quotes around a value that holds a #' : undefined;
}

/** Warns of names that are set on several lines, because a change to any but the last of these lines has no effect. */
function repeatWarnings(text: string, file: string): string[] {
  const linesByName = new Map<string, number[]>();
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const name = IGNORED.test(line) ? undefined : NAMED.exec(line)?.[1];
    if (name !== undefined) linesByName.set(name, [...(linesByName.get(name) ?? []), at + 1]);
  }
  const repeats = [...linesByName].filter(([, lines]) => lines.length > 1);
  return repeats.map(([name, lines]) => `${file}: ${name} is in lines ${lines.join(' and ')}; the last one counts`);
}

/** Warns of secrets that every user of this machine can read. Never warns on Windows, which has no such permissions. */
function exposureWarnings(values: EnvFile['values'], file: string): string[] {
  const hasSecrets = Object.entries(values).some(([name, value]) => value !== '' && isSecretName(name));
  if (!hasSecrets || process.platform === 'win32' || (statSync(file).mode & READABLE_BY_ALL) === 0) return [];
  return [`${file} holds secrets and every user of this machine can read it: chmod 600 ${file}`];
}

/** The text of the file that a setting names; `undefined` without a name. Rejects if the file is empty or unreadable. */
export async function readNamedFile(setting: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined || file.trim() === '') return undefined;
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (text === '') throw new Error(`${setting} names a file that is empty or cannot be read.`);
  return text;
}
