import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { type Service, within } from '../base/lifecycle.ts';
import { type Logger, rareWarning } from '../base/log.ts';

/** One part of readiness, e.g. `redis`. */
export interface ReadinessPart {
  readonly name: string;
  /**
   * `isDegraded`: there is trouble that this process cannot end, and that prevents none of its own work. `isStarting`:
   * it is not ready because it was started just now.
   * Contract: must not throw; answers within a second.
   */
  check(): Promise<{ ready: boolean; isDegraded?: true; isStarting?: true; detail?: string }>;
}

/** A path that is served beside health, such as the webhook's. */
export interface Route {
  readonly path: string;
  /** Every path below it is served too. */
  readonly isTree?: true;
  /** Contract: must not throw; answers, unless the sender has gone away. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

interface HealthOptions {
  host: string;
  port: number;
  /** Names by which it is reached, besides loopback and any address. */
  hosts?: readonly string[];
  log: Logger;
  parts: readonly ReadinessPart[];
  routes?: readonly Route[];
  /** A request that is not complete after this time is cut. */
  requestTimeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 1_000;
/** Longer than Telegram keeps an idle connection, so that no connection is closed while a delivery is sent on it. */
const KEEP_ALIVE_MS = 75_000;
/** At the stop, requests in progress are answered within this time, or cut: their senders were promised nothing. */
const STOP_GRACE_MS = 2_000;

const FOREIGN = 'a request named a host that is not ours, and was refused; HTTP_ALLOWED_HOSTS adds one';
const HOST_SHOWN = 100;

/**
 * Serves `GET /healthz` (200 while the process lives), `GET /readyz` and the given routes. `/readyz` answers 200 when
 * every part is ready, else 503; its JSON lists each part, and says `degraded` in place of `ready` when one has
 * trouble, and `starting` in place of `not ready` while that is all. A request that names another host is answered with
 * 421. Rejects when the port is taken, with a sentence that names `HTTP_PORT`. `stop` accepts no new connection, and lets
 * requests in progress be answered.
 */
export async function serveHealth(options: HealthOptions): Promise<Service & { port: number }> {
  const healthRoute = onlyGet('/healthz', async () => ({ ready: true, body: { status: 'ok' } }));
  const routeOf = router([healthRoute, readinessRoute(options.parts), ...(options.routes ?? [])]);
  const hosts = new Set((options.hosts ?? []).map((host) => host.toLowerCase()));
  const noteForeign = rareWarning(options.log, FOREIGN);
  const inHand = new Set<ServerResponse>();
  const requestTimeout = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const server = createServer({
    requestTimeout,
    headersTimeout: requestTimeout,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  server.on('request', (request, response) => {
    inHand.add(response);
    response.once('close', () => inHand.delete(response));
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
      for (const response of inHand) closeAfter(response);
      await within(closed, STOP_GRACE_MS);
      server.closeAllConnections();
      await closed;
    },
  };
}

function readinessRoute(parts: readonly ReadinessPart[]): Route {
  return onlyGet('/readyz', async () => {
    const checked = await Promise.all(parts.map(async (part) => [part.name, await part.check()] as const));
    const ready = checked.every(([, part]) => part.ready);
    const isDegraded = checked.some(([, part]) => part.isDegraded);
    const isStarting = checked.every(([, part]) => part.ready || part.isStarting);
    const unready = isStarting ? 'starting' : 'not ready';
    const status = !ready ? unready : isDegraded ? 'degraded' : 'ready';
    return { ready, body: { status, parts: Object.fromEntries(checked) } };
  });
}

function onlyGet(path: string, look: () => Promise<{ ready: boolean; body: object }>): Route {
  return {
    path,
    async handle(request, response) {
      if (request.method !== 'GET') return void response.writeHead(404).end();
      const { ready, body } = await look();
      response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
    },
  };
}

/** Finds the route of a path. Pure. */
function router(routes: readonly Route[]): (path: string) => Route | undefined {
  const exact = new Map(routes.map((route) => [route.path, route]));
  const trees = routes.filter(({ isTree }) => isTree);
  return (path) => exact.get(path) ?? trees.find((tree) => path.startsWith(`${tree.path}/`));
}

/** A keep-alive connection would outlive the server. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

async function listen(server: Server, { host, port }: HealthOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (error: NodeJS.ErrnoException) =>
    reject(
      new Error(
        error.code === 'EADDRINUSE'
          ? `Port ${port} is taken. Set HTTP_PORT to another one (0 picks a free one).`
          : `The health server could not listen on ${host}:${port} (${error.code}).`,
      ),
    ),
  );
  server.listen(port, host, resolve);
  await promise;
}

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
