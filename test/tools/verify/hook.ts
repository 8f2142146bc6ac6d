import { createServer } from 'node:http';
import { closeServer, listen, readBody, sendJson } from '../../stand-in/loopback.ts';

/** What came to one of the operator's second addresses. */
export interface Call {
  path: string;
  body: unknown;
}

/** A place that takes any POST of JSON: the gateway's second channel, and Alertmanager's receiver. */
export interface Hook {
  readonly url: string;
  readonly calls: readonly Call[];
  /** While it is, the gateway's second channel is refused, too. */
  isDown: boolean;
  close(): Promise<void>;
}

const BYTES_MAX = 1_000_000;

const GATEWAY = '/gateway';

/** Opens one on loopback. */
export async function openHook(): Promise<Hook> {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const body = await readBody(request, BYTES_MAX);
    if (hook.isDown && request.url === GATEWAY) return sendJson(response, 503, {});
    calls.push({ path: request.url ?? '', body: JSON.parse(String(body ?? '{}')) });
    sendJson(response, 200, {});
  });
  const hook = { url: await listen(server), calls, isDown: false, close: () => closeServer(server) };
  return hook;
}
