/**
 * A strict stand-in for the Messages API, for tests and the demo. What the real API refuses, it refuses, with the
 * same error; it keeps a ledger of every call, so that what a gateway really sent can be judged from outside.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, header, listen, readBody, sendJson } from '../loopback.ts';
import { listed, News } from '../news.ts';
import { act, type Pace, type Stage, sendError, sendTooLarge } from './act.ts';
import { countedTokens } from './counted.ts';
import { type Finding, Guard, type GuardOptions } from './guard.ts';
import { type Judgement, judge, type Refusal, refusalAtDoor } from './judge.ts';
import { type ModelOptions, StandInModel, type StatedLife } from './model.ts';
import { type ClaudeCall, FORCED, type Reaction, type ReactionRule } from './reaction.ts';
import { pendingText, systemText } from './request.ts';
import { BODY_BYTES_MAX } from './rules.ts';

/** How a Claude stand-in is started. */
export interface ClaudeOptions extends ModelOptions, Pace, GuardOptions {
  /** Default: a free one. */
  port?: number;
  /** The only key that is accepted. Default: any. */
  apiKey?: string;
  /** Whether `GET /v1/models/{id}` exists; a proxy may not have it. Default true. */
  servesModels?: boolean;
  /** The status of `GET /v1/models/{id}`. Default 200. */
  modelsStatus?: 200 | 404 | 500;
  /** Whether `POST /v1/messages/count_tokens` exists; a proxy may not have it. Default true. */
  countsTokens?: boolean;
}

/** A running Claude stand-in. */
export interface ClaudeStandIn {
  /** The base URL, without `/v1`. */
  readonly url: string;
  /** Every `POST /v1/messages`, in the order of arrival. */
  readonly calls: readonly ClaudeCall[];
  /** Every other request, as `METHOD /path -> status`. */
  readonly otherRequests: readonly string[];
  /** The real window; set it to make the next calls overflow, or fit again. */
  windowTokens: number;
  /** The tokenizer's ratio; set it to swap the tokenizer. */
  ratio: number;
  /** What is refused because of what a request says; set its rules, or lift them, at any time. */
  readonly guard: Guard;
  /** What the models endpoint states of a model's life; a retired model is not found by any call. */
  readonly lives: Map<string, StatedLife>;
  /** The status of `GET /v1/models/{id}` from now on. */
  modelsStatus: 200 | 404 | 500;
  /** What the provider bills for the calls that match, or for all, in US dollars. */
  usd(match?: (call: ClaudeCall) => boolean): number;
  /** The calls that broke a rule of the API contract. Being too long for the window is no violation. */
  violations(): ClaudeCall[];
  /**
   * Installs a rule. The rule installed last is asked first, once per call. Violations and the window come before
   * any rule, except that a test may force `raw`, `error` and `hang`.
   */
  react(rule: ReactionRule): void;
  /** The first call that matches, at its arrival, its status or its end. Rejects with what was seen. Default 5 s. */
  waitForCall(match: (call: ClaudeCall) => boolean, timeoutMs?: number): Promise<ClaudeCall>;
  /** How many calls have not ended. */
  inFlight(): number;
  /** Cuts every open connection and stops. */
  close(): Promise<void>;
}

/** A wait ends with what it waited for; this is for one that never comes, on a machine that does much else. */
const WAIT_MS = 30_000;

class ClaudeServer implements ClaudeStandIn {
  url = '';
  readonly calls: ClaudeCall[] = [];
  readonly otherRequests: string[] = [];
  readonly guard: Guard;
  modelsStatus: 200 | 404 | 500;
  readonly #model: StandInModel;
  readonly #options: ClaudeOptions;
  readonly #news = new News();
  readonly #rules: ReactionRule[] = [];
  readonly #server = createServer((request, response) => {
    this.#route(request, response).catch((error) => response.destroy(error));
  });

  constructor(options: ClaudeOptions) {
    this.#options = options;
    this.#model = new StandInModel(options);
    this.guard = new Guard(options);
    this.modelsStatus = options.servesModels === false ? 404 : (options.modelsStatus ?? 200);
  }

  async start(): Promise<this> {
    this.url = await listen(this.#server, this.#options.port);
    return this;
  }

  get windowTokens(): number {
    return this.#model.windowTokens;
  }

  set windowTokens(tokens: number) {
    this.#model.windowTokens = tokens;
  }

  get ratio(): number {
    return this.#model.ratio;
  }

  set ratio(ratio: number) {
    this.#model.ratio = ratio;
  }

  get lives(): Map<string, StatedLife> {
    return this.#model.lives;
  }

  violations(): ClaudeCall[] {
    return this.calls.filter((call) => call.violation !== undefined);
  }

  usd(match: (call: ClaudeCall) => boolean = () => true): number {
    return this.calls.filter(match).reduce((sum, { usd }) => sum + (usd ?? 0), 0);
  }

  react(rule: ReactionRule): void {
    this.#rules.unshift(rule);
  }

  waitForCall(match: (call: ClaudeCall) => boolean, timeoutMs = WAIT_MS): Promise<ClaudeCall> {
    const seen = (): string => listed(this.calls.map(describe));
    return this.#news.until(() => this.calls.find(match), timeoutMs, 'matching call to Claude', seen);
  }

  inFlight(): number {
    return this.calls.filter((call) => call.endedAt === undefined).length;
  }

  async close(): Promise<void> {
    await closeServer(this.#server);
    this.#news.end();
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.url);
    if (request.method === 'POST' && pathname === '/v1/messages') return this.#messages(request, response);
    const bytes = await readBody(request, BODY_BYTES_MAX);
    const isCount = request.method === 'POST' && pathname === '/v1/messages/count_tokens';
    if (isCount && this.#options.countsTokens !== false) this.#count(request, response, bytes);
    else this.#other(request, response, pathname);
    this.otherRequests.push(`${request.method} ${pathname} -> ${response.statusCode}`);
    this.#news.tell();
  }

  #other(request: IncomingMessage, response: ServerResponse, pathname: string): void {
    const requestId = `req_standin_other${this.otherRequests.length}`;
    const model = /^\/v1\/models\/([^/]+)$/.exec(pathname)?.[1];
    const refusal = refusalAtDoor(request, this.#options.apiKey);
    const isCard = request.method === 'GET' && model !== undefined && this.modelsStatus !== 404;
    const missing = { status: 404, type: 'not_found_error', message: 'Not found' };
    const broken = { status: 500, type: 'api_error', message: 'Internal server error' };
    if (refusal !== undefined) sendError(response, requestId, refusal);
    else if (!isCard) sendError(response, requestId, missing);
    else if (this.modelsStatus === 500) sendError(response, requestId, broken);
    else sendJson(response, 200, this.#model.card(decodeURIComponent(model)), { 'request-id': requestId });
  }

  #count(request: IncomingMessage, response: ServerResponse, bytes: Buffer | undefined): void {
    const requestId = `req_standin_count${this.otherRequests.length}`;
    const refusal = refusalAtDoor(request, this.#options.apiKey);
    const counted = refusal ?? countedTokens(bytes, this.#model);
    if ('status' in counted) sendError(response, requestId, counted);
    else sendJson(response, 200, counted, { 'request-id': requestId });
  }

  async #messages(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalAtDoor(request, this.#options.apiKey);
    const bytes = await readBody(request, BODY_BYTES_MAX);
    const judgement = judge(bytes, (model) => this.#model.groundsFor(model), this.#model.ratio);
    const call = this.#record(judgement, header(request, 'traceparent'));
    const gone = this.#watchEnd(call, response);
    const reaction = this.#decide(call);
    const stage = { call, response, model: this.#model, pace: this.#options, gone };
    if (reaction !== undefined && FORCED.includes(reaction.do)) await act(reaction, stage);
    else if (refusal !== undefined) this.#refuse(call, response, 'unauthorized', refusal);
    else await this.#judged(judgement, reaction, stage);
    this.#news.tell();
  }

  /** What becomes of a call that was let in: the guard sees it first, then the API with its rules, then the model. */
  async #judged(judgement: Judgement, reaction: Reaction | undefined, stage: Stage): Promise<void> {
    const { call, response } = stage;
    const rejection = this.guard.rejection(call.body);
    const retired = retiredModel(call, this.lives);
    if (retired !== undefined) this.#refuse(call, response, 'retired', retired);
    else if (rejection !== undefined) await this.#convict(rejection, stage);
    else if (judgement.violation?.status === 413) this.#refuseLarge(call, response, judgement.violation.message);
    else if (judgement.violation !== undefined) this.#refuse(call, response, 'violation', judgement.violation);
    else if (judgement.window !== undefined) this.#refuse(call, response, windowName(judgement), judgement.window);
    else {
      const refusal = this.guard.refusal(call.body);
      await (refusal === undefined ? act(reaction ?? { do: 'answer' }, stage) : this.#convict(refusal, stage));
    }
  }

  #convict({ place, reaction }: Finding, stage: Stage): Promise<void> {
    stage.call.guilty = place;
    return act(reaction, stage);
  }

  #record({ body, inputTokens, violation }: Judgement, traceparent: string | undefined): ClaudeCall {
    const index = this.calls.length;
    const call: ClaudeCall = {
      index,
      at: Date.now(),
      kind: /summar/i.test(systemText(body)) ? 'compaction' : 'main',
      body,
      inputTokens,
      pendingText: pendingText(body),
      reaction: '',
      status: 0,
      ...(violation && { violation }),
      requestId: `req_standin${String(index).padStart(16, '0')}`,
      ...(traceparent !== undefined && { traceparent }),
    };
    this.calls.push(call);
    return call;
  }

  /** Notes the end of a call, whoever ended it, and answers the signal of that moment. */
  #watchEnd(call: ClaudeCall, response: ServerResponse): AbortSignal {
    const gone = new AbortController();
    response.once('close', () => {
      if (call.endedAt === undefined && !response.writableFinished) call.aborted = true;
      call.endedAt ??= Date.now();
      gone.abort();
      this.#news.tell();
    });
    return gone.signal;
  }

  #decide(call: ClaudeCall): Reaction | undefined {
    for (const rule of this.#rules) {
      const reaction = rule(call);
      if (reaction !== undefined) {
        // A call is told at its arrival with what will be done: a call that hangs has no later moment.
        call.reaction = reaction.do;
        this.#news.tell();
        return reaction;
      }
    }
    this.#news.tell();
    return undefined;
  }

  #refuse(
    call: ClaudeCall,
    response: ServerResponse,
    reaction: string,
    error: { status: number; type: string; message: string },
  ): void {
    call.reaction = reaction;
    call.status = error.status;
    sendError(response, call.requestId, error);
  }

  #refuseLarge(call: ClaudeCall, response: ServerResponse, message: string): void {
    call.reaction = 'violation';
    call.status = 413;
    sendTooLarge(response, message);
  }
}

function retiredModel({ body: { model } }: ClaudeCall, lives: ReadonlyMap<string, StatedLife>): Refusal | undefined {
  if (lives.get(model)?.lifecycle !== 'retired') return undefined;
  return { status: 404, type: 'not_found_error', message: `model: ${model}` };
}

const windowName = ({ window }: Judgement): string => (window?.rule === 20 ? 'fit' : 'window');

/** One call in a line, for an error message. */
function describe({ index, kind, reaction, status, inputTokens, pendingText: pending, violation }: ClaudeCall): string {
  const why = violation === undefined ? '' : ` (rule ${violation.rule}: ${violation.message.slice(0, 80)})`;
  return `#${index} ${kind} ${inputTokens} tokens ${JSON.stringify(pending.slice(0, 40))} -> ${reaction} ${status}${why}`;
}

/** Starts a Claude stand-in on loopback. Every test closes its own. */
export function startClaude(options: ClaudeOptions = {}): Promise<ClaudeStandIn> {
  return new ClaudeServer(options).start();
}
