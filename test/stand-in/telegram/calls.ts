/** The HTTP side of the Telegram stand-in: every call is kept, and carried out or made to fail as a test has planned it. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBody, sendJson } from '../loopback.ts';
import { Failures } from './failures.ts';
import { methodNamed } from './methods.ts';
import { type Params, readParams } from './params.ts';
import { badRequest, type Refusal, RefusedError } from './refusal.ts';
import type { Desk } from './server.ts';

/** One call of a method, kept from its arrival on; `ok`, `status` and `messageId` are filled in by its answer. */
export interface TelegramCall {
  at: number;
  method: string;
  /** All that was sent, parameters that no server knows included. */
  params: Params;
  ok: boolean;
  /** The HTTP status, 0 as long as none was sent, or when it was lost. */
  status: number;
  /** The message that was sent or changed, also when the answer got lost. */
  messageId?: number;
  /** What the API said where it refused. */
  description?: string;
  /** When the answer was sent, or lost, or the caller went away. */
  endedAt?: number;
}

/** A file of 50 MB with its form around it is read; whether it is too large is the method's business. */
const BODY_BYTES_MAX = 51 * 1024 * 1024;
const SLOW_MS = 1000;

/** Takes the requests of one bot, and keeps them. */
export class Calls {
  readonly list: TelegramCall[] = [];
  readonly failures = new Failures();
  readonly #token: string;
  readonly #desk: Desk;
  readonly #onChange: () => void;
  readonly #listeners: ((call: TelegramCall) => void)[] = [];

  constructor(token: string, desk: Desk, onChange: () => void) {
    this.#token = token;
    this.#desk = desk;
    this.#onChange = onChange;
  }

  /** Calls the listener after each call that has ended. */
  onAnswer(listener: (call: TelegramCall) => void): void {
    this.#listeners.push(listener);
  }

  /** Answers one HTTP request. */
  async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stand-in');
    const body = await readBody(request, BODY_BYTES_MAX);
    const [, file, token, name = ''] = /^\/(file\/)?bot([^/]*)\/(.*)$/.exec(decodeURI(pathname)) ?? [];
    if (token === undefined) return refuse(response, { status: 404, description: 'Not Found' });
    if (token !== this.#token) return refuse(response, { status: 401, description: 'Unauthorized' });
    if (body === undefined) return refuse(response, { status: 413, description: 'Request Entity Too Large' });
    if (file !== undefined) {
      const bytes = this.#desk.files.download(name);
      if (bytes === undefined) return refuse(response, { status: 404, description: 'Not Found' });
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
      return;
    }
    const params = await readParams(request, searchParams, body);
    const call: TelegramCall = { at: Date.now(), method: name, params: params ?? {}, ok: false, status: 0 };
    this.list.push(call);
    this.#onChange();
    await this.#carryOut(call, params, response);
    call.endedAt = Date.now();
    for (const listener of this.#listeners) listener(call);
    this.#onChange();
  }

  async #carryOut(call: TelegramCall, params: Params | undefined, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const carryOut = () => this.#result(call, params, gone.signal);
    const failure = this.failures.take(call.method, call.params);
    if (failure === undefined) return answer(call, carryOut, response);
    if ('status' in failure) {
      call.status = failure.status;
      call.description = failure.description;
      return refuse(response, failure);
    }
    if (failure.do === 'html502') {
      call.status = 502;
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end('<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>');
      return;
    }
    if (failure.do === 'slow') {
      await sleep(failure.ms ?? SLOW_MS, undefined, { signal: gone.signal }).catch(() => {});
      return answer(call, carryOut, response);
    }
    if (failure.do === 'withholdReply' || failure.do === 'loseReply') await carryOut().catch(() => {});
    if (failure.do === 'cut' || failure.do === 'loseReply') response.destroy();
    else if (!gone.signal.aborted) await once(gone.signal, 'abort');
  }

  /** Carries the effect out, and notes it. */
  async #result(call: TelegramCall, params: Params | undefined, gone: AbortSignal): Promise<unknown> {
    const method = methodNamed(call.method, this.#desk);
    if (method === undefined) throw new RefusedError(404, 'Not Found: method not found');
    if (params === undefined) throw badRequest("can't parse request parameters JSON object");
    this.#desk.floods?.take(call.method, params);
    const result = await method(this.#desk, params, gone);
    call.ok = true;
    const [first] = [result].flat() as { message_id?: number }[];
    if (first?.message_id !== undefined) call.messageId = first.message_id;
    return result;
  }
}

/** Answers a call with its result, or with the refusal of the method. */
async function answer(call: TelegramCall, carryOut: () => Promise<unknown>, response: ServerResponse): Promise<void> {
  try {
    const result = await carryOut();
    call.status = 200;
    sendJson(response, 200, { ok: true, result: result ?? true });
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    call.status = error.refusal.status;
    call.description = error.refusal.description;
    refuse(response, error.refusal);
  }
}

function refuse(response: ServerResponse, { status, description, parameters }: Refusal): void {
  sendJson(response, status, { ok: false, error_code: status, description, parameters });
}

/** One call in a line, for an error message. */
export function describe({ method, params, status, description }: TelegramCall): string {
  const text = typeof params.text === 'string' ? ` ${JSON.stringify(params.text.slice(0, 60))}` : '';
  const to = params.chat_id === undefined ? '' : ` to ${params.chat_id}`;
  return `${method}${to}${text} -> ${status}${description === undefined ? '' : ` ${description}`}`;
}
