/** The HTTP side of the Telegram stand-in: every call is kept, and carried out or made to fail as a test has planned it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBody, sendJson } from '../loopback.ts';
import type { Desk } from './desk.ts';
import { Failures } from './failures.ts';
import { methodNamed } from './methods.ts';
import { type Params, readParams } from './params.ts';
import { type Refusal, RefusedError } from './refusal.ts';

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
    if (file !== undefined) return this.#download(name, response);
    const params = readParams(request, searchParams, body);
    const call: TelegramCall = { at: Date.now(), method: name, params: params ?? {}, ok: false, status: 0 };
    this.list.push(call);
    this.#onChange();
    await this.#carryOut(call, params, response);
    call.endedAt = Date.now();
    for (const listener of this.#listeners) listener(call);
    this.#onChange();
  }

  #download(path: string, response: ServerResponse): void {
    const bytes = this.#desk.files.download(path);
    if (bytes === undefined) refuse(response, { status: 404, description: 'Not Found' });
    else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
  }

  async #carryOut(call: TelegramCall, params: Params | undefined, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const failure = this.failures.take(call.method, call.params);
    if (failure === undefined) return this.#answer(call, params, response, gone.signal);
    if ('status' in failure) {
      call.status = failure.status;
      call.description = failure.description;
      return refuse(response, failure as Refusal);
    }
    switch (failure.do) {
      case 'hang':
        return untilAborted(gone.signal);
      case 'cut':
        response.destroy();
        return;
      case 'html502':
        call.status = 502;
        response.writeHead(502, { 'content-type': 'text/html' });
        response.end('<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>');
        return;
      case 'slow':
        await sleep(failure.ms ?? SLOW_MS, undefined, { signal: gone.signal }).catch(() => {});
        return this.#answer(call, params, response, gone.signal);
      case 'withholdReply':
        await this.#result(call, params, gone.signal).catch(() => {});
        call.status = 0;
        return untilAborted(gone.signal);
      case 'loseReply':
        await this.#result(call, params, gone.signal).catch(() => {});
        call.status = 0;
        response.destroy();
    }
  }

  async #answer(
    call: TelegramCall,
    params: Params | undefined,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<void> {
    try {
      const result = await this.#result(call, params, gone);
      call.status = 200;
      sendJson(response, 200, { ok: true, result });
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      call.ok = false;
      call.status = error.refusal.status;
      call.description = error.refusal.description;
      refuse(response, error.refusal);
    }
  }

  /** Carries the effect out, and notes it. */
  async #result(call: TelegramCall, params: Params | undefined, gone: AbortSignal): Promise<unknown> {
    const { version, floods } = this.#desk;
    const method = version.offers(call.method) ? methodNamed(call.method) : undefined;
    if (method === undefined) throw new RefusedError({ status: 404, description: 'Not Found: method not found' });
    if (params === undefined) {
      throw new RefusedError({ status: 400, description: "Bad Request: can't parse request parameters JSON object" });
    }
    floods?.take(call.method, params);
    const result = await method(this.#desk, version.known(call.method, params), gone);
    call.ok = true;
    const [first = result] = Array.isArray(result) ? result : [];
    const sent = (first as { message_id?: unknown } | null)?.message_id;
    if (typeof sent === 'number') call.messageId = sent;
    return result;
  }
}

function refuse(response: ServerResponse, { status, description, parameters }: Refusal): void {
  const body = { ok: false, error_code: status, description, ...(parameters !== undefined && { parameters }) };
  sendJson(response, status, body);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** One call in a line, for an error message. */
export function describe({ method, params, status, description }: TelegramCall): string {
  const text = typeof params.text === 'string' ? ` ${JSON.stringify(params.text.slice(0, 60))}` : '';
  const to = params.chat_id === undefined ? '' : ` to ${params.chat_id}`;
  return `${method}${to}${text} -> ${status}${description === undefined ? '' : ` ${description}`}`;
}
