/**
 * A strict stand-in for the Messages API, for tests and the demo. What the real API refuses, it refuses, with the
 * same error; it keeps a ledger of every call, so that what a gateway really sent can be judged from outside.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, header, listen, readBody, sendJson } from '../loopback.ts';
import { listed, News } from '../news.ts';
import { act, type Pace, refuse, type Stage, sendError } from './act.ts';
import { type Finding, findRefusal, findRejection, type GuardOptions } from './guard.ts';
import { countedTokens, type Judgement, judge, refusalAtDoor } from './judge.ts';
import { type ModelOptions, StandInModel } from './model.ts';
import { type ClaudeCall, FORCED, type Reaction, type ReactionRule } from './reaction.ts';
import { pendingText, systemText } from './request.ts';
import { BODY_BYTES_MAX } from './rules.ts';
import type { Refusal } from './violation.ts';

export interface ClaudeOptions extends ModelOptions, Pace, GuardOptions {
  /** Default: a free one. */
  port?: number;
  /** The only key that is accepted. Default: any. */
  apiKey?: string;
  /** The status of `GET /v1/models/{id}`; a proxy may not have it. Default 200. */
  modelsStatus?: 200 | 404 | 500;
  /** Whether `POST /v1/messages/count_tokens` exists; a proxy may not have it. Default true. */
  countsTokens?: boolean;
}

/** A wait ends with what it waited for; this is for one that never comes, on a machine that does much else. */
const WAIT_MS = 30_000;

const NOT_FOUND = { status: 404, type: 'not_found_error', message: 'Not found' };
const BROKEN = { status: 500, type: 'api_error', message: 'Internal server error' };

/** A running Claude stand-in: a model, and the API in front of it. */
export class ClaudeStandIn extends StandInModel {
  /** The base URL, without `/v1`. */
  url = '';
  /** Every `POST /v1/messages`, in the order of arrival. */
  readonly calls: ClaudeCall[] = [];
  /** Every other request, as `METHOD /path -> status`. */
  readonly otherRequests: string[] = [];
  /** What is refused because of what a request says; set its rules, or lift them, at any time. */
  readonly guard: GuardOptions;
  /** The status of `GET /v1/models/{id}` from now on. */
  modelsStatus: 200 | 404 | 500;
  readonly #options: ClaudeOptions;
  readonly #news = new News();
  readonly #rules: ReactionRule[] = [];
  readonly #server = createServer((request, response) => {
    this.#route(request, response).catch((error) => response.destroy(error));
  });

  constructor(options: ClaudeOptions) {
    super(options);
    this.#options = options;
    this.guard = { ...options };
    this.modelsStatus = options.modelsStatus ?? 200;
  }

  async start(): Promise<this> {
    this.url = await listen(this.#server, this.#options.port);
    return this;
  }

  /** The calls that broke a rule of the API contract. Being too long for the window is no violation. */
  violations(): ClaudeCall[] {
    return this.calls.filter((call) => call.violation !== undefined);
  }

  /** What the provider bills, in US dollars. */
  usd(): number {
    return this.calls.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
  }

  /** The rule installed last is asked first. Violations and the window come before all but `FORCED` reactions. */
  react(rule: ReactionRule): void {
    this.#rules.unshift(rule);
  }

  /** The first call that matches, at its arrival, its status or its end. Rejects with what was seen. Default 30 s. */
  waitForCall(match: (call: ClaudeCall) => boolean, timeoutMs = WAIT_MS): Promise<ClaudeCall> {
    const seen = (): string => listed(this.calls.map(describe));
    return this.#news.until(() => this.calls.find(match), timeoutMs, 'matching call to Claude', seen);
  }

  inFlight(): number {
    return this.calls.filter((call) => call.endedAt === undefined).length;
  }

  /** Cuts every open connection and stops. */
  async close(): Promise<void> {
    await closeServer(this.#server);
    this.#news.end();
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const line = `${request.method} ${new URL(request.url ?? '/', this.url).pathname}`;
    const bytes = readBody(request, BODY_BYTES_MAX);
    const refusal = refusalAtDoor(request, this.#options.apiKey);
    if (line === 'POST /v1/messages') {
      await this.#messages(request, response, await bytes, refusal);
    } else {
      const requestId = `req_standin_other${this.otherRequests.length}`;
      const answer = refusal ?? this.#other(line, await bytes);
      if ('status' in answer) sendError(response, requestId, answer as Refusal);
      else sendJson(response, 200, answer, { 'request-id': requestId });
      this.otherRequests.push(`${line} -> ${response.statusCode}`);
    }
    this.#news.tell();
  }

  #other(line: string, bytes: Buffer | undefined): object {
    const model = /^GET \/v1\/models\/([^/]+)$/.exec(line)?.[1];
    if (line === 'POST /v1/messages/count_tokens' && this.#options.countsTokens !== false)
      return countedTokens(bytes, this);
    if (model === undefined || this.modelsStatus === 404) return NOT_FOUND;
    return this.modelsStatus === 500 ? BROKEN : this.card(decodeURIComponent(model));
  }

  async #messages(
    request: IncomingMessage,
    response: ServerResponse,
    bytes: Buffer | undefined,
    refusal: Refusal | undefined,
  ): Promise<void> {
    const judgement = judge(bytes, this);
    const call = this.#record(judgement, header(request, 'traceparent'));
    const gone = this.#watchEnd(call, response);
    const reaction = this.#decide(call);
    const stage = { call, response, model: this, pace: this.#options, gone };
    if (reaction !== undefined && FORCED.includes(reaction.do)) await act(reaction, stage);
    else if (refusal !== undefined) refuse(stage, 'unauthorized', refusal);
    else await this.#judged(judgement, reaction, stage);
  }

  /** What becomes of a call that was let in: the guard sees it first, then the API with its rules, then the model. */
  async #judged({ violation, window }: Judgement, reaction: Reaction | undefined, stage: Stage): Promise<void> {
    const { body } = stage.call;
    const rejection = findRejection(this.guard, body);
    if (this.lives.get(body.model)?.lifecycle === 'retired')
      refuse(stage, 'retired', { ...NOT_FOUND, message: `model: ${body.model}` });
    else if (rejection !== undefined) await convict(rejection, stage);
    else if (violation !== undefined) refuse(stage, 'violation', violation);
    else if (window !== undefined) refuse(stage, 'window', window);
    else {
      const refusal = findRefusal(this.guard, body);
      await (refusal === undefined ? act(reaction ?? { do: 'answer' }, stage) : convict(refusal, stage));
    }
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

  /** The reaction of the first rule that has one. A call is told at its arrival: one that hangs has no later moment. */
  #decide(call: ClaudeCall): Reaction | undefined {
    let reaction: Reaction | undefined;
    for (const rule of this.#rules) reaction ??= rule(call);
    if (reaction !== undefined) call.reaction = reaction.do;
    this.#news.tell();
    return reaction;
  }
}

function convict({ place, reaction }: Finding, stage: Stage): Promise<void> {
  stage.call.guilty = place;
  return act(reaction, stage);
}

function describe({ index, kind, reaction, status, inputTokens, pendingText: pending, violation }: ClaudeCall): string {
  const why = violation === undefined ? '' : ` (rule ${violation.rule}: ${violation.message.slice(0, 80)})`;
  return `#${index} ${kind} ${inputTokens} tokens ${JSON.stringify(pending.slice(0, 40))} -> ${reaction} ${status}${why}`;
}

/** Starts a Claude stand-in on loopback. Every test closes its own. */
export function startClaude(options: ClaudeOptions = {}): Promise<ClaudeStandIn> {
  return new ClaudeStandIn(options).start();
}
