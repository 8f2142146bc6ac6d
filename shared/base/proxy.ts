import http, { type ProxyEnv } from 'node:http';

type Environment = Readonly<Record<string, string | undefined>>;

/** The names of this machine itself, which need no proxy, even if `NO_PROXY` does not list them. */
const LOOPBACK = ['localhost', '127.0.0.1', '::1', '[::1]'];
const TOO_OLD =
  'HTTPS_PROXY: this Node cannot use it; take a newer one, or set NODE_USE_ENV_PROXY=0 to do without the proxy';
let isSet = false;

/**
 * Reads the proxies from `HTTP_PROXY` and `HTTPS_PROXY`, and the exceptions from `NO_PROXY`. `undefined` if neither proxy is
 * set, or if `NODE_USE_ENV_PROXY` is 0. A lower-case name wins over its upper-case form, as in Node. Pure.
 */
export function proxyOf(env: Environment): ProxyEnv | undefined {
  const value = (name: string): string | undefined => env[name.toLowerCase()]?.trim() || env[name]?.trim() || undefined;
  const [plain, https] = [value('HTTP_PROXY'), value('HTTPS_PROXY')];
  if (env.NODE_USE_ENV_PROXY?.trim() === '0' || (plain === undefined && https === undefined)) return undefined;
  const direct = [value('NO_PROXY'), ...LOOPBACK].filter((each) => each !== undefined).join(',');
  return { ...(plain && { HTTP_PROXY: plain }), ...(https && { HTTPS_PROXY: https }), NO_PROXY: direct };
}

/**
 * Makes `fetch` and Node's agents use the proxies of an environment, if any, from now on. Does nothing once proxies are set.
 * Node itself reads these variables only at its start, before we read the settings file. Returns the problems of the proxies.
 */
export function useProxy(env: Environment): string[] {
  const proxy = proxyOf(env);
  if (proxy === undefined || isSet) return [];
  const malformed = ['HTTP_PROXY', 'HTTPS_PROXY'].filter(
    (name) => proxy[name] !== undefined && !/^https?:$/.test(URL.parse(proxy[name])?.protocol ?? ''),
  );
  if (malformed.length > 0)
    return malformed.map(
      (name) => `${name} is malformed: expected an http or https URL; NODE_USE_ENV_PROXY=0 does without the proxy`,
    );
  if (http.setGlobalProxyFromEnv === undefined) return [TOO_OLD];
  http.setGlobalProxyFromEnv(proxy);
  isSet = true;
  return [];
}

/** The hosts of the proxies in words for operators, without users and passwords. Pure. */
export function proxyInWords({ HTTP_PROXY: plain, HTTPS_PROXY: https }: ProxyEnv): string {
  const hostOf = (url: string | undefined): string => URL.parse(url ?? '')?.host ?? '';
  return [https && `https by ${hostOf(https)}`, plain && `http by ${hostOf(plain)}`].filter(Boolean).join(', ');
}
