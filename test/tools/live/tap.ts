import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { closeServer, listen } from '../../stand-in/loopback.ts';

/** One request as it stood on the wire, without its headers: they hold the key. */
export interface Tapped {
  method: string;
  path: string;
  request: Record<string, unknown>;
  status: number;
  /** The whole answer. */
  answer: string;
}

/** A wire on loopback between the adapter and an endpoint, which passes on everything and notes it. */
export interface Tap {
  url: string;
  calls: readonly Tapped[];
  close(): Promise<void>;
}

/** What belongs to one connection and not to what is said over it. */
const OWN_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'content-encoding',
  'accept-encoding',
  'keep-alive',
]);

/** Opens a tap before an endpoint. */
export async function openTap(endpoint: string): Promise<Tap> {
  const calls: Tapped[] = [];
  const server = createServer((request, response) => {
    pass(endpoint.replace(/\/$/, ''), request, response, calls).catch((error) => response.destroy(error));
  });
  return { url: await listen(server), calls, close: () => closeServer(server) };
}

async function pass(
  endpoint: string,
  request: IncomingMessage,
  response: ServerResponse,
  calls: Tapped[],
): Promise<void> {
  const body = await buffer(request);
  const { method = 'GET', url = '/' } = request;
  const call: Tapped = {
    method,
    path: url,
    request: body.length > 0 ? JSON.parse(body.toString()) : {},
    status: 0,
    answer: '',
  };
  calls.push(call);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const headers = Object.entries(request.headers).filter(([name]) => !OWN_HEADERS.has(name));
  const answer = await fetch(`${endpoint}${url}`, {
    method,
    headers: Object.fromEntries(headers) as Record<string, string>,
    ...(body.length > 0 && { body }),
    signal: gone.signal,
  });
  call.status = answer.status;
  response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([name]) => !OWN_HEADERS.has(name))));
  response.flushHeaders();
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    call.answer += decoder.decode(chunk, { stream: true });
    if (!response.write(chunk)) await once(response, 'drain', { signal: gone.signal });
  }
  response.end();
}

/** The names of the events of a streamed answer, in order. */
export function eventsIn({ answer }: Tapped): string[] {
  return [...answer.matchAll(/^event: *(.+)$/gm)].map((match) => (match[1] ?? '').trim());
}
