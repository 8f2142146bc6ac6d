import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const OWNER_ONLY = 0o600;

/**
 * Sets values in a settings file that only its owner can read; a missing file begins as a copy of `template`. Reads the file
 * anew, so that other changes stay. Replaces the file in one step: if the process dies, the old or the new text is there.
 */
export async function writeEnv(file: string, template: string, changes: ReadonlyMap<string, string>): Promise<void> {
  const place = await realpath(file).catch(() => file);
  const text = (await textOf(place)) ?? (await textOf(template)) ?? '';
  const temporary = join(dirname(place), `.${basename(place)}.${randomUUID()}.tmp`);
  try {
    const handle = await open(temporary, 'wx', OWNER_ONLY);
    try {
      await keepOwner(handle, place);
      await handle.writeFile(editEnv(text, changes));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, place);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(place));
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Keeps the owner of the file, so that an administrator who runs the setup does not lock the service out. */
async function keepOwner(handle: FileHandle, place: string): Promise<void> {
  const before = await stat(place).catch(() => undefined);
  const own = await handle.stat();
  if (before !== undefined && (before.uid !== own.uid || before.gid !== own.gid)) {
    await handle.chown(before.uid, before.gid);
  }
}

/** Writes the folder to disk, so that the new file survives a power cut. Some systems cannot open a folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** Values that shells, Compose, systemd and Node read alike without quotes. */
const PLAIN = /^[\w./:@,+=%*-]*$/;
const UNWRITABLE = /['\r\n\0]/;
/** The value of a line behind the equals sign, and a comment behind that. */
const VALUE = /^(?:(["'`])(?:(?!\1).)*\1|[^#]*?)(\s+#.*)?\s*$/;

/** Whether a value can stand in a settings file so that every program reads it alike. Pure. */
export function isWritable(value: string): boolean {
  return !UNWRITABLE.test(value);
}

/**
 * Sets values in the text of a settings file and keeps everything else, comments and unknown lines included. A present name
 * keeps its line; a name in a comment gets the line after the comment; other names come last. Pure. Throws for a value that
 * is not writable.
 */
export function editEnv(text: string, changes: ReadonlyMap<string, string>): string {
  const end = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
  for (const [name, value] of changes) setLine(lines, name, quote(value));
  return lines.length === 0 ? '' : `${lines.join(end)}${end}`;
}

function setLine(lines: string[], name: string, value: string): void {
  const assignment = new RegExp(`^(\\s*(?:export\\s+)?${name}\\s*=\\s*)(.*)$`);
  // The last line of a repeated name counts.
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
