import http, { type ProxyEnv } from 'node:http';

type Environment = Readonly<Record<string, string | undefined>>;

/** Reached without a proxy, whatever `NO_PROXY` says. */
const LOOPBACK = ['localhost', '127.0.0.1', '::1', '[::1]'];
const TOO_OLD =
  'HTTPS_PROXY: this Node cannot use it; take a newer one, or set NODE_USE_ENV_PROXY=0 to do without the proxy';
let isSet = false;

/**
 * The proxy of an environment: that of `HTTPS_PROXY` and `HTTP_PROXY`, but none where `NODE_USE_ENV_PROXY` is 0. The lower
 * case wins, as for Node. Pure.
 */
export function proxyOf(env: Environment): ProxyEnv | undefined {
  const value = (name: string): string | undefined => env[name.toLowerCase()]?.trim() || env[name]?.trim() || undefined;
  const [plain, https] = [value('HTTP_PROXY'), value('HTTPS_PROXY')];
  if (env.NODE_USE_ENV_PROXY?.trim() === '0' || (plain === undefined && https === undefined)) return undefined;
  const direct = [value('NO_PROXY'), ...LOOPBACK].filter((each) => each !== undefined).join(',');
  return { ...(plain && { HTTP_PROXY: plain }), ...(https && { HTTPS_PROXY: https }), NO_PROXY: direct };
}

/**
 * Has `fetch` and the agents of Node use the proxy of an environment from now on: Node itself looks only at its start, before
 * a settings file is read. Returns the problem with a proxy that cannot be used.
 */
export function useProxy(env: Environment): string[] {
  const proxy = proxyOf(env);
  if (proxy === undefined || isSet) return [];
  const wrong = ['HTTP_PROXY', 'HTTPS_PROXY'].filter(
    (name) => proxy[name] !== undefined && !/^https?:$/.test(URL.parse(proxy[name])?.protocol ?? ''),
  );
  if (wrong.length > 0)
    return wrong.map(
      (name) => `${name} is malformed: expected an http or https URL; NODE_USE_ENV_PROXY=0 does without the proxy`,
    );
  if (http.setGlobalProxyFromEnv === undefined) return [TOO_OLD];
  http.setGlobalProxyFromEnv(proxy);
  isSet = true;
  return [];
}

/** The addresses of a proxy without its user and password, for people. Pure. */
export function proxyInWords({ HTTP_PROXY: plain, HTTPS_PROXY: https }: ProxyEnv): string {
  const shown = (url: string | undefined): string => URL.parse(url ?? '')?.host ?? '';
  return [https && `https by ${shown(https)}`, plain && `http by ${shown(plain)}`].filter(Boolean).join(', ');
}
