import { execFile } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { getDefaultEnvironment, type StdioServerParameters } from '@modelcontextprotocol/sdk/client/stdio.js';
import { HOME, PROJECT_ROOT } from '../../../shared/base/project.ts';
import { socketFile } from '../../../shared/base/redis-address.ts';
import { type Settings, settingsFile } from '../../../shared/base/settings.ts';
import type { McpServer, StdioServer } from './config.ts';
import { limitedCommand, supervisedCommand } from './processes.ts';

/** How a server that is a program is isolated from the gateway's files and processes. */
export type Sandbox =
  /** Inside bubblewrap, which hides the project and the files and folders in `hidden`. */
  | { kind: 'bwrap'; hidden: readonly string[] }
  /** As another user of the system, who may not read the gateway's files. */
  | { kind: 'user'; uid: number; gid: number }
  /** No isolation: a server can read everything that the gateway can read. */
  | { kind: 'none'; why: string };

/** The first arguments of bubblewrap: no privileges, no processes but the server's own, a read-only file system. */
const BWRAP = [
  ...['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--cap-drop', 'ALL', '--ro-bind', '/', '/', '--dev', '/dev'],
  // Make the kernel's settings in /proc read-only: even without privileges, a server run by root could write to them.
  ...['--proc', '/proc', '--remount-ro', '/proc'],
];

/** The folder of packages. Servers may read it: it holds no secret, and the machine's only Node may be in it. */
const PACKAGES = join(PROJECT_ROOT, 'node_modules');
/** The folder of the system services' sockets, perhaps with one of Redis. */
const SOCKETS = '/run';
/** Paths that stay visible even below `/run`: the addresses of the DNS servers, and the programs of NixOS. */
const VISIBLE_PATHS = ['/etc/resolv.conf', '/run/current-system'];
const SYSTEM = /^\/(?:$|(?:usr|s?bin|lib\w*|etc|boot|dev|proc|sys|run)(?:\/|$))/;

/**
 * The command that runs a server under a supervisor, in the sandbox, and with the kernel's limits. `scratch` is the server's
 * home in a sandbox, and its working folder if the configuration names none. This folder must exist and belong to the server's
 * user.
 */
export function confinedCommand(server: StdioServer, scratch: string, sandbox: Sandbox): StdioServerParameters {
  const cwd = server.cwd ?? scratch;
  const home = sandbox.kind === 'none' ? {} : { HOME: scratch };
  // Without a sandbox, set no limit on processes: the kernel would also count other programs of the gateway's own user.
  const limited = limitedCommand([server.command, ...server.args], server.limits, sandbox.kind !== 'none');
  const words = [...prefixOf(server, scratch, sandbox), ...limited];
  const [command = '', ...args] = supervisedCommand(words, scratch);
  return { command, args, env: { ...home, ...server.env }, cwd: sandbox.kind === 'bwrap' ? '/' : cwd };
}

function prefixOf(server: StdioServer, scratch: string, sandbox: Sandbox): readonly string[] {
  if (sandbox.kind === 'none') return [];
  if (sandbox.kind === 'user') return asUser(sandbox);
  const cwd = resolve(server.cwd ?? scratch);
  return ['bwrap', ...BWRAP, ...mountsOf(server, scratch, sandbox.hidden), '--chdir', cwd, '--'];
}

function asUser({ uid, gid }: { uid: number; gid: number }): readonly string[] {
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
}

/** The absolute paths in a server's arguments (also after the `=` of an option), environment and `cwd`. */
function namedPaths({ args, env, cwd }: StdioServer): readonly string[] {
  const words = [...args, ...Object.values(env), ...(cwd === undefined ? [] : [resolve(cwd)])];
  return words.map((word) => word.slice(word.startsWith('-') ? word.indexOf('=') + 1 : 0)).filter(isAbsolute);
}

/**
 * The mounts over the read-only root. Outer folders come before inner ones: a server's own folder inside a hidden folder is
 * visible, and a hidden folder inside a server's own folder is not.
 */
function mountsOf(server: StdioServer, scratch: string, secret: readonly string[]): readonly string[] {
  const hidden = [...new Set([PROJECT_ROOT, SOCKETS, ...secret].flatMap(real))];
  const temporary = [...new Set(['/tmp', '/var/tmp', tmpdir()].flatMap(real))];
  const shared = [...hidden.filter(isFolder), ...temporary, homedir()];
  const paths = namedPaths(server).map((path) => resolve(path));
  const writable = paths.filter((path) => !leadsOutside(path, paths)).flatMap((path) => writablePlaces(path, shared));
  const readable = [PACKAGES, ...VISIBLE_PATHS, server.command].filter((path) => isAbsolute(path) && existsSync(path));
  const readableMounts = [...new Set([...readable, ...readable.flatMap(real)])].filter((path) =>
    [...hidden, ...temporary].some((place) => isWithin(path, place)),
  );
  const mounts = [
    ...readableMounts.map((at) => ({ at, args: ['--ro-bind', at, at], isHiding: false })),
    ...[...writable, ...real(scratch)].map((at) => ({ at, args: ['--bind', at, at], isHiding: false })),
    ...hidden.map((at) => ({
      at,
      args: isFolder(at) ? ['--tmpfs', at] : ['--ro-bind', '/dev/null', at],
      isHiding: true,
    })),
    ...temporary.map((at) => ({ at, args: ['--tmpfs', at], isHiding: true })),
  ];
  const inOrder = mounts.sort((a, b) => a.at.length - b.at.length || Number(a.isHiding) - Number(b.isHiding));
  const remounts = hidden.filter(isFolder).flatMap((at) => ['--remount-ro', at]);
  return [...inOrder.flatMap(({ args }) => args), ...remounts];
}

/**
 * The places where a server may write because of a path in its configuration: the folder, or for a file (which may not exist
 * yet) the folder of the file. For an existing file in a shared folder such as `/tmp`, the file alone. Never the system's
 * folders or the gateway's packages.
 */
function writablePlaces(path: string, shared: readonly string[]): readonly string[] {
  const [file] = real(path);
  if (file !== undefined && isFolder(file)) return isReadOnly(file) ? [] : [file];
  const [folder] = real(dirname(path));
  if (folder === undefined || isReadOnly(folder)) return [];
  if (!shared.some((place) => isWithin(place, folder))) return [folder];
  return file === undefined ? [] : [file];
}

/** Whether a folder is read-only for servers: the system's, and the packages, which the gateway runs outside any sandbox. */
function isReadOnly(folder: string): boolean {
  return SYSTEM.test(folder) || real(PACKAGES).some((packages) => isWithin(folder, packages));
}

/** Whether a symbolic link leads a path out of a configured folder, in which the server may have made that link. */
function leadsOutside(path: string, configured: readonly string[]): boolean {
  const [end = path] = [...real(path), ...real(dirname(path))];
  const places = configured.flatMap((each) => [each, dirname(each)]);
  return places.some(
    (place) => path !== place && isWithin(path, place) && real(place).some((at) => !isWithin(end, at)),
  );
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder.replace(/\/$/, '')}/`);
}

/** The path with its links resolved, in a list; an empty list if the path does not exist. */
function real(path: string): string[] {
  return existsSync(path) ? [realpathSync(path)] : [];
}

function isFolder(path: string): boolean {
  return statSync(path).isDirectory();
}

const run = promisify(execFile);
const COMMAND_MS = 5_000;
const WORDS_CHARS_MAX = 200;
/** Succeeds if the user finds the program `$1`, can read the other arguments, and can write to those that are folders. */
const ACCESS_CHECK =
  'command -v "$1" > /dev/null || exit 1; shift; for each; do [ -r "$each" ] || exit 1; [ ! -d "$each" ] || [ -w "$each" ] || exit 1; done';

/**
 * The best sandbox that the setting allows and this machine has: bubblewrap if it works; else, for root, the user `nobody` if
 * that works; else none. `hidden` lists files and folders that no server may see, besides the project. Never rejects.
 */
export async function findSandbox(
  setting: 'auto' | 'off',
  hidden: readonly string[],
  bwrap = 'bwrap',
): Promise<Sandbox> {
  if (setting === 'off') return { kind: 'none', why: 'MCP_SANDBOX is off' };
  const why = await run(bwrap, [...BWRAP, '--', 'true'], { timeout: COMMAND_MS }).then(() => undefined, wordsOf);
  if (why === undefined) return { kind: 'bwrap', hidden };
  const nobody = process.getuid?.() === 0 ? await userNobody() : undefined;
  return nobody ?? { kind: 'none', why };
}

/** The places that no server may see, besides the project: the settings, `MCP_CONFIG`, the socket of Redis, and stored data. */
export function secretPlaces({ MCP_CONFIG, BLOB_URL, REDIS_URL }: Settings): readonly string[] {
  const settings = settingsFile();
  return [
    join(HOME, 'data'),
    ...(settings === undefined ? [] : [settings]),
    ...(MCP_CONFIG === undefined ? [] : [resolve(MCP_CONFIG)]),
    ...(REDIS_URL?.startsWith('unix:') ? [hidingPlaceOf(socketFile(REDIS_URL))] : []),
    ...(BLOB_URL.kind === 'files' ? [BLOB_URL.folder] : []),
  ];
}

/**
 * The path to hide so that no server sees a socket: the socket's folder, because each start of Redis makes a new socket; but in
 * a shared folder such as `/tmp`, the socket itself.
 */
function hidingPlaceOf(socket: string): string {
  const folder = dirname(socket);
  return ['/', '/tmp', '/var/tmp', tmpdir(), homedir()].includes(folder) ? socket : folder;
}

/** The sandbox for one server: `sandbox`, or none if the user `nobody` cannot use the server's program or files. */
export async function sandboxFor(server: McpServer, sandbox: Sandbox): Promise<Sandbox> {
  if (sandbox.kind !== 'user' || server.kind !== 'stdio') return sandbox;
  const places = namedPaths(server).filter((path) => existsSync(path));
  const [command = '', ...args] = [...asUser(sandbox), '/bin/sh', '-c', ACCESS_CHECK, 'sh', server.command, ...places];
  const env = { ...getDefaultEnvironment(), ...server.env };
  return run(command, args, { env, cwd: '/', timeout: COMMAND_MS }).then(
    () => sandbox,
    () => ({ kind: 'none', why: 'the user nobody cannot use its program or what it is configured with' }),
  );
}

async function userNobody(): Promise<Sandbox | undefined> {
  const idOf = async (flag: string) => Number((await run('id', [flag, 'nobody'], { timeout: COMMAND_MS })).stdout);
  try {
    const nobody = { uid: await idOf('-u'), gid: await idOf('-g') };
    const [command = '', ...args] = [...asUser(nobody), 'true'];
    await run(command, args, { timeout: COMMAND_MS });
    return { kind: 'user', ...nobody };
  } catch {
    return undefined;
  }
}

/** Why bubblewrap does not work: the first line of its error output, if any. */
function wordsOf(error: NodeJS.ErrnoException & { stderr?: string }): string {
  if (error.code === 'ENOENT') return 'bubblewrap (bwrap) is not installed';
  const [line = ''] = (error.stderr ?? '').trim().split('\n');
  return `bubblewrap does not work here: ${(line || error.message).slice(0, WORDS_CHARS_MAX)}`;
}
