import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** The widest address a stand-in listens on: tests and the demo must never reach out of this machine. */
const LOOPBACK = '127.0.0.1';

/** A client that keeps its connection must not meet a server that closes it at the same moment. */
const KEEP_ALIVE_MS = 120_000;

/** Listens on loopback, on a free port when `port` is 0, and answers the base URL. */
export function listen(server: Server, port = 0): Promise<string> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('A stand-in listens on TCP only.'));
      else resolve(`http://${LOOPBACK}:${address.port}`);
    });
  });
}

/** Ends every connection, open requests included, and then the server. Safe to call twice. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/**
 * The whole body, or undefined when it is longer than `bytesMax` (the rest is read and thrown away, so that the
 * client gets the answer instead of a broken pipe). Rejects when the client goes away in the middle.
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes <= bytesMax ? Buffer.concat(chunks) : undefined;
}

/** Answers with JSON, unless the client is gone. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

/** The first value of a request header. */
export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
