import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Settings } from './settings.ts';

/** The URLs of some sentinels, and a URL whose host is the name of their master. Some sentinels may be unreachable. */
export interface SentinelAddress {
  readonly sentinels: readonly string[];
  readonly master: string;
}

/** The longest path of a socket that all systems accept, in bytes. Linux accepts 107 bytes, but e.g. macOS only 103. */
const SOCKET_BYTES_MAX = 103;

const SERVER_EXPECTED = 'expected redis://…, rediss://… or unix:///the/path/of/a/socket';

/** The form of `REDIS_URL`. */
export const serverUrl = z
  .url({ protocol: /^(?:rediss?|unix)$/, error: SERVER_EXPECTED, abort: true })
  .refine((url) => !url.startsWith('unix:') || isSocket(url), SERVER_EXPECTED);

function isSocket(url: string): boolean {
  try {
    return /^unix:\/\/\/[^?#]+$/.test(url) && socketFile(url) !== '';
  } catch {
    return false;
  }
}

/** The absolute path of the socket in a `unix:` URL. */
export function socketFile(url: string): string {
  return fileURLToPath(url.replace('unix:', 'file:'));
}

/** The `unix:` URL of a socket's path. */
export function socketUrl(path: string): string {
  return pathToFileURL(path).href.replace('file:', 'unix:');
}

/**
 * The path by which this process opens the socket of a `unix:` URL: the absolute path or, if that is too long, the path from
 * the working directory. Throws if both paths are too long.
 */
export function socketPath(url: string): string {
  const absolutePath = socketFile(url);
  if (Buffer.byteLength(absolutePath) <= SOCKET_BYTES_MAX) return absolutePath;
  const path = relative(process.cwd(), absolutePath);
  if (Buffer.byteLength(path) <= SOCKET_BYTES_MAX) return path;
  throw new Error(
    `The path ${absolutePath} is too long for a socket: work in a folder that is nearer to it, or set REDIS_URL.`,
  );
}

/**
 * The address of Redis: the URL of a server or of its socket; the URLs of some nodes of a cluster, some of which may be
 * unreachable; or a master that sentinels watch.
 */
export type RedisAddress = string | readonly string[] | SentinelAddress;

const REDIS_NODE = /^rediss?:\/\/(?:[^@/?#]*@)?(?:\[[\da-f:.]+\]|[\w.-]+):[1-9]\d{0,4}\/?$/i;
const NODES_EXPECTED =
  'expected nodes of a cluster, comma separated, each host:port or redis(s)://user:password@host:port';
const SENTINELS_EXPECTED = 'expected sentinels, comma separated, each host:port or redis(s)://user:password@host:port';
/** A URL whose host is the master's name. */
const MASTER_NAME = /^rediss?:\/\/(?:[^@/?#]*@)?[\w.-]+\/?$/i;

/** The form of `REDIS_CLUSTER_NODES`. */
export const clusterNodes = serverList(NODES_EXPECTED);

/** The form of `REDIS_SENTINELS`. */
export const sentinelNodes = serverList(SENTINELS_EXPECTED);

/** The form of `REDIS_SENTINEL_MASTER`. */
export const sentinelMaster = z
  .string()
  .transform((text) => withScheme(text.trim()))
  .refine(
    (url) => MASTER_NAME.test(url) && URL.canParse(url) && canBeDecoded(url),
    'expected the name that the sentinels know, or redis(s)://user:password@name with what its servers ask for',
  );

/** The address of Redis in the settings; `undefined` if the settings name none: the gateway then uses its private Redis. */
export function redisAddressOf(settings: Settings): RedisAddress | undefined {
  const { REDIS_SENTINELS: sentinels, REDIS_SENTINEL_MASTER: master } = settings;
  if (sentinels !== undefined && master !== undefined) return { sentinels, master };
  return settings.REDIS_CLUSTER_NODES ?? settings.REDIS_URL;
}

function serverList(expected: string) {
  return z
    .string()
    .transform((text) => text.split(',').map((node) => withScheme(node.trim())))
    .refine((nodes) => nodes.every(isNode), { error: expected, abort: true })
    .refine((nodes) => new Set(nodes.map(accessOf)).size <= 1, 'all must have the same scheme, user and password');
}

/** Whether a text is the URL of a server with a port, and the client can decode its percent-encoded user and password. */
function isNode(url: string): boolean {
  return REDIS_NODE.test(url) && URL.canParse(url) && canBeDecoded(url);
}

function canBeDecoded(url: string): boolean {
  return /^(?:[^%]|%[0-7][\da-f])*$/i.test(url);
}

function withScheme(address: string): string {
  return address.includes('://') ? address : `redis://${address}`;
}

/** The scheme, user and password of a node's URL. They apply to every node, including nodes that only the cluster announces. */
function accessOf(url: string): string {
  const { protocol, username, password } = new URL(url);
  return JSON.stringify([protocol, username, password]);
}
