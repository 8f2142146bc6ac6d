import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { type Config, settingsFile } from '../../../shared/base/config.ts';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { socketFile } from '../../../shared/base/redis-address.ts';
import type { McpServer } from './config.ts';
import { BWRAP, namedPaths, type Sandbox } from './sandbox.ts';

const run = promisify(execFile);
const LOOK_MS = 5_000;
const WORDS_CHARS_MAX = 200;
/** Whether a user finds the first argument as a program and may read the others, folders to write to included. */
const REACHES =
  'command -v "$1" > /dev/null || exit 1; shift; for each; do [ -r "$each" ] || exit 1; [ ! -d "$each" ] || [ -w "$each" ] || exit 1; done';

/**
 * The best sandbox that this machine has: bubblewrap where it works; else, for root, the user `nobody`. `hidden` are
 * files and folders that no server may see, besides the project. Never rejects.
 */
export async function findSandbox(
  setting: 'auto' | 'off',
  hidden: readonly string[],
  bwrap = 'bwrap',
): Promise<Sandbox> {
  if (setting === 'off') return { kind: 'none', why: 'MCP_SANDBOX is off' };
  const why = await run(bwrap, [...BWRAP, '--', 'true'], { timeout: LOOK_MS }).then(() => undefined, wordsOf);
  if (why === undefined) return { kind: 'bwrap', hidden };
  const nobody = process.getuid?.() === 0 ? await userNobody() : undefined;
  return nobody ?? { kind: 'none', why };
}

/** What no server may see, besides the project: the settings, the configuration of the others, and what is stored. */
export function secretPlaces({ MCP_CONFIG, BLOB_URL, REDIS_URL }: Config): readonly string[] {
  const settings = settingsFile();
  return [
    join(PROJECT_ROOT, 'data'),
    ...(settings === undefined ? [] : [settings]),
    ...(MCP_CONFIG === undefined ? [] : [resolve(MCP_CONFIG)]),
    ...(REDIS_URL?.startsWith('unix:') ? [placeOf(socketFile(REDIS_URL))] : []),
    ...(BLOB_URL.kind === 'files' ? [BLOB_URL.folder] : []),
  ];
}

/** The folder of a socket, unless much else is in it: a Redis that starts makes it anew, and only a folder stays hidden then. */
function placeOf(socket: string): string {
  const folder = dirname(socket);
  return ['/', '/tmp', '/var/tmp', tmpdir(), homedir()].includes(folder) ? socket : folder;
}

/** The sandbox for one server: none where the other user could not start it, or not use what it is configured with. */
export async function sandboxFor(server: McpServer, sandbox: Sandbox): Promise<Sandbox> {
  if (sandbox.kind !== 'user' || server.kind !== 'stdio') return sandbox;
  const { uid, gid } = sandbox;
  const words = ['-c', REACHES, 'sh', server.command, ...namedPaths(server).filter((path) => existsSync(path))];
  const env = { ...getDefaultEnvironment(), ...server.env };
  const reaches = await run('/bin/sh', words, { uid, gid, env, cwd: '/', timeout: LOOK_MS }).then(
    () => true,
    () => false,
  );
  return reaches
    ? sandbox
    : { kind: 'none', why: 'the user nobody cannot use its program or what it is configured with' };
}

async function userNobody(): Promise<Sandbox | undefined> {
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map((flag) => run('id', [flag, 'nobody'], { timeout: LOOK_MS }).then(({ stdout }) => Number(stdout))),
  ).catch(() => []);
  return uid !== undefined && gid !== undefined && uid > 0 && gid > 0 ? { kind: 'user', uid, gid } : undefined;
}

/** Why bubblewrap cannot be used, in its own words. */
function wordsOf(error: NodeJS.ErrnoException & { stderr?: string }): string {
  if (error.code === 'ENOENT') return 'bubblewrap (bwrap) is not installed';
  const [line = ''] = (error.stderr ?? '').trim().split('\n');
  return `bubblewrap does not work here: ${(line || error.message).slice(0, WORDS_CHARS_MAX)}`;
}
