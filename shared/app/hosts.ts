import { isIP } from 'node:net';

/**
 * Whether a request that names this host may be answered: a page of another site whose name was made to lead here would
 * be of our own origin, and could read all that we serve without a login. Nobody can do that to an address, and a
 * browser always names a host. `names` are in lower case. Pure.
 */
export function isOurHost(host: string | undefined, names: ReadonlySet<string>): boolean {
  if (host === undefined) return true;
  const name = URL.parse(`http://${host}`)?.hostname.replace(/^\[|\]$|\.$/g, '') ?? '';
  return name === 'localhost' || isIP(name) !== 0 || names.has(name);
}
