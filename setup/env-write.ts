import { randomUUID } from 'node:crypto';
import { type FileHandle, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ifPresent, replaceFile, syncFolder } from '../shared/base/synced-file.ts';

/**
 * Writes values into a settings file, which then only its owner can read; a missing file begins as a copy of `template`. Reads
 * the file first, so that changes by others remain. Replaces the file in one step: a crash leaves the old or the new text.
 */
export async function writeEnv(file: string, template: string, changes: ReadonlyMap<string, string>): Promise<void> {
  const place = await realpath(file).catch(() => file);
  const textOf = (path: string) => ifPresent(readFile(path, 'utf8'));
  const text = (await textOf(place)) ?? (await textOf(template)) ?? '';
  const temporary = join(dirname(place), `.${basename(place)}.${randomUUID()}.tmp`);
  await replaceFile(place, temporary, editEnv(text, changes), (written) => keepOwner(written, place));
  // Some systems cannot open a folder.
  await syncFolder(dirname(place)).catch(() => {});
}

/** Gives the new file the owner of the old one, so that an administrator who runs the setup does not lock the service out. */
async function keepOwner(handle: FileHandle, place: string): Promise<void> {
  const before = await stat(place).catch(() => undefined);
  const own = await handle.stat();
  if (before !== undefined && (before.uid !== own.uid || before.gid !== own.gid)) {
    await handle.chown(before.uid, before.gid);
  }
}

/** Values that shells, Compose, systemd and Node read alike without quotes. */
const PLAIN = /^[\w./:@,+=%*-]*$/;
const UNWRITABLE = /['\r\n\0]/;
/** The part of a line after the equals sign: the value, and a comment if there is one. */
const VALUE = /^(?:(["'`])(?:(?!\1).)*\1|[^#]*?)(\s+#.*)?\s*$/;

/** Whether a settings file can hold a value so that every program reads the same value. Pure. */
export function isWritable(value: string): boolean {
  return !UNWRITABLE.test(value);
}

/**
 * Sets values in the text of a settings file. All other lines stay the same, including comments and unknown lines. A name that
 * is already set keeps its line; a name that is only in a comment gets the line after the comment; other names get lines at the
 * end. Throws for a value that is not writable. Pure.
 */
export function editEnv(text: string, changes: ReadonlyMap<string, string>): string {
  const end = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
  for (const [name, value] of changes) setLine(lines, name, quote(value));
  return lines.length === 0 ? '' : `${lines.join(end)}${end}`;
}

function setLine(lines: string[], name: string, value: string): void {
  const assignment = new RegExp(`^(\\s*(?:export\\s+)?${name}\\s*=\\s*)(.*)$`);
  // If a name is set more than once, programs use the last line.
  const at = lines.findLastIndex((line) => assignment.test(line));
  const [, before = '', after = ''] = assignment.exec(lines[at] ?? '') ?? [];
  if (at >= 0) lines[at] = `${before}${value}${VALUE.exec(after)?.[2] ?? ''}`;
  else insert(lines, name, `${name}=${value}`);
}

function insert(lines: string[], name: string, line: string): void {
  const comment = new RegExp(`^#\\s*${name}=`);
  const at = lines.findLastIndex((each) => comment.test(each));
  lines.splice(at >= 0 ? at + 1 : lines.length, 0, line);
}

function quote(value: string): string {
  if (!isWritable(value)) throw new Error('a value with a quote or a line end cannot be written');
  return PLAIN.test(value) ? value : `'${value}'`;
}
