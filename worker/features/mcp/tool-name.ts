import { hash } from 'node:crypto';

const NAME_CHARS_MAX = 64;
const SERVER_CHARS_MAX = 24;
const DIGEST_CHARS = 8;

/**
 * The name of a server's tool for the model: `server__tool`; or, if that is too long, illegal or ambiguous, the beginnings of
 * both names with a digest of both. Pure: depends on these two names alone, and not on other servers.
 */
export function toolName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  // The first `__` of a plain name ends the server's name, and no plain name looks as if it ended in a digest.
  const isClear = !/__|_$/.test(server) && server !== '' && tool !== '' && !/_[0-9a-f]{8}$/.test(plain);
  if (isClear && plain.length <= NAME_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(plain)) return plain;
  const digest = hash('sha256', JSON.stringify([server, tool])).slice(0, DIGEST_CHARS);
  const head = `${legal(server).slice(0, SERVER_CHARS_MAX)}__`;
  return `${head}${legal(tool).slice(0, NAME_CHARS_MAX - head.length - DIGEST_CHARS - 1)}_${digest}`;
}

/** Whether a name may belong to a tool of a server. Pure. */
export function isToolNameOf(server: string, name: string): boolean {
  return [server, legal(server).slice(0, SERVER_CHARS_MAX)].some((head) => name.startsWith(`${head}__`));
}

function legal(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}
