import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Service } from './lifecycle.ts';

/** One part of readiness, e.g. `redis`. */
export interface ReadinessPart {
  readonly name: string;
  /** Contract: must not throw; answers within a second. */
  check(): Promise<{ ready: boolean; detail?: string }>;
}

/**
 * Serves `GET /healthz` (200 while the process lives) and `GET /readyz` (200 when every part is ready, else 503; JSON
 * with each part). Rejects when the port is taken, with a sentence that names `HTTP_PORT`.
 */
export async function serveHealth(options: {
  host: string;
  port: number;
  parts: readonly ReadinessPart[];
}): Promise<Service & { port: number }> {
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' || (path !== '/healthz' && path !== '/readyz')) {
      response.writeHead(404).end();
      return;
    }
    const { ready, body } =
      path === '/healthz' ? { ready: true, body: { status: 'ok' } } : await readiness(options.parts);
    response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (error: NodeJS.ErrnoException) =>
    reject(
      new Error(
        error.code === 'EADDRINUSE'
          ? `Port ${options.port} is taken. Set HTTP_PORT to another one (0 picks a free one).`
          : `The health server could not listen on ${options.host}:${options.port} (${error.code}).`,
      ),
    ),
  );
  server.listen(options.port, options.host, resolve);
  await promise;
  return {
    name: 'health',
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

async function readiness(parts: readonly ReadinessPart[]) {
  const checked = await Promise.all(parts.map(async (part) => [part.name, await part.check()] as const));
  const ready = checked.every(([, part]) => part.ready);
  return { ready, body: { status: ready ? 'ready' : 'not ready', parts: Object.fromEntries(checked) } };
}
