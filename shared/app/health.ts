import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { type Service, within } from '../base/lifecycle.ts';
import { type Logger, rareWarning } from '../base/log.ts';

/** One part of readiness, e.g. `redis`. */
export interface ReadinessPart {
  readonly name: string;
  /**
   * `isDegraded`: something is wrong that this process cannot repair and that does not stop its work. `isStarting`: the part is
   * not ready because the process has just started.
   * Contract: must not throw; answers within a second.
   */
  check(): Promise<{ ready: boolean; isDegraded?: true; isStarting?: true; detail?: string }>;
}

/** A further path of the health server, such as the webhook's. */
export interface Route {
  readonly path: string;
  /** The route serves every path below `path`, too. */
  readonly isTree?: true;
  /** Contract: must not throw; sends a response, unless the sender has gone away. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

interface HealthOptions {
  host: string;
  port: number;
  /** The host names of this server, besides `localhost` and IP addresses. */
  hosts?: readonly string[];
  log: Logger;
  parts: readonly ReadinessPart[];
  routes?: readonly Route[];
  /** The server closes the connection of a request that does not arrive completely within this time. */
  requestTimeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 1_000;
/** How long an idle connection stays open. Telegram closes it earlier, so no delivery arrives while the server closes it. */
const KEEP_ALIVE_MS = 75_000;
/** How long a stop waits for the requests in progress. Then the server closes their connections. */
const STOP_GRACE_MS = 2_000;

const FOREIGN = 'a request named a host that is not ours, and was refused; HTTP_ALLOWED_HOSTS adds one';
const HOST_SHOWN = 100;

/**
 * Serves `GET /healthz` (200 while the process lives), `GET /readyz` and the given routes. `/readyz` answers 200 when every
 * part is ready, else 503. Its JSON lists the parts, and has the `status` `degraded` instead of `ready` if a part is degraded,
 * and `starting` instead of `not ready` if all unready parts are starting. A request that names a host other than ours gets
 * 421. Rejects when the server cannot listen; if another process uses the port, with a sentence that names `HTTP_PORT`. `stop`
 * refuses new connections and waits up to two seconds for the requests in progress.
 */
export async function serveHealth(options: HealthOptions): Promise<Service & { port: number }> {
  const healthRoute = onlyGet('/healthz', async () => ({ ready: true, body: { status: 'ok' } }));
  const routeOf = router([healthRoute, readinessRoute(options.parts), ...(options.routes ?? [])]);
  const hosts = new Set((options.hosts ?? []).map((host) => host.toLowerCase()));
  const noteForeign = rareWarning(options.log, FOREIGN);
  const openResponses = new Set<ServerResponse>();
  const requestTimeout = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const server = createServer({
    requestTimeout,
    headersTimeout: requestTimeout,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  server.on('request', (request, response) => {
    openResponses.add(response);
    response.once('close', () => openResponses.delete(response));
    if (!server.listening) closeAfter(response);
    if (!isOurHost(request.headers.host, hosts)) {
      noteForeign({ host: request.headers.host?.slice(0, HOST_SHOWN) });
      return void response.writeHead(421, { connection: 'close' }).end();
    }
    const route = routeOf(request.url?.split('?')[0] ?? '');
    if (route === undefined) response.writeHead(404).end();
    else void route.handle(request, response);
  });
  await listen(server, options);
  return {
    name: 'health',
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      for (const response of openResponses) closeAfter(response);
      await within(closed, STOP_GRACE_MS);
      server.closeAllConnections();
      await closed;
    },
  };
}

function readinessRoute(parts: readonly ReadinessPart[]): Route {
  return onlyGet('/readyz', async () => {
    const results = await Promise.all(parts.map(async (part) => [part.name, await part.check()] as const));
    const ready = results.every(([, part]) => part.ready);
    const isDegraded = results.some(([, part]) => part.isDegraded);
    const isStarting = results.every(([, part]) => part.ready || part.isStarting);
    const readyStatus = isDegraded ? 'degraded' : 'ready';
    const unreadyStatus = isStarting ? 'starting' : 'not ready';
    const status = ready ? readyStatus : unreadyStatus;
    return { ready, body: { status, parts: Object.fromEntries(results) } };
  });
}

function onlyGet(path: string, readState: () => Promise<{ ready: boolean; body: object }>): Route {
  return {
    path,
    async handle(request, response) {
      if (request.method !== 'GET') return void response.writeHead(404).end();
      const { ready, body } = await readState();
      response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
    },
  };
}

function router(routes: readonly Route[]): (path: string) => Route | undefined {
  const exact = new Map(routes.map((route) => [route.path, route]));
  const trees = routes.filter(({ isTree }) => isTree);
  return (path) => exact.get(path) ?? trees.find((tree) => path.startsWith(`${tree.path}/`));
}

/** Makes the server close the connection after a response, because a keep-alive connection would outlive the server. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

async function listen(server: Server, { host, port }: HealthOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', ({ code }: NodeJS.ErrnoException) => {
    const takenText = `Port ${port} is taken. Set HTTP_PORT to another one (0 picks a free one).`;
    const otherText = `The health server could not listen on ${host}:${port} (${code}).`;
    reject(new Error(code === 'EADDRINUSE' ? takenText : otherText));
  });
  server.listen(port, host, resolve);
  await promise;
}

/**
 * Whether to answer a request with this `Host` header. True for `localhost`, an IP address, one of `names` (in lower case), and
 * a missing header. Prevents DNS rebinding: if an attacker pointed the name of a site at this server, a page of that site could
 * read everything that needs no login. Nobody can rebind an IP address, and browsers always send the header. Pure.
 */
export function isOurHost(host: string | undefined, names: ReadonlySet<string>): boolean {
  if (host === undefined) return true;
  const name = URL.parse(`http://${host}`)?.hostname.replace(/^\[|\]$|\.$/g, '') ?? '';
  return name === 'localhost' || isIP(name) !== 0 || names.has(name);
}
