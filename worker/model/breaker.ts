import type { FailureReason } from '../../shared/flow/failure.ts';
import { estimateRequest } from './count.ts';
import type { Model, ModelRequest, ModelResult } from './port.ts';

/** The recent record of one model's endpoint. */
interface Circuit {
  /** Failures since a call last went through. */
  failures: number;
  /** How often in a row it has opened; 0 while it is closed. */
  trips: number;
  /** When it opened. */
  openedMs: number;
  /** No calls are made before this time. */
  pausedUntilMs: number;
  /** Whether a probe call is in flight. */
  probing: boolean;
}

/** The state of a breaker, for those who only look. */
export interface Breaker {
  /** Each model that was called, and whether calls of it are withheld now. */
  open(): ReadonlyMap<string, boolean>;
}

/** A circuit that opened, or found its endpoint still down: since when, and when the next call tries it. */
export interface OpenCircuit {
  sinceMs: number;
  untilMs: number;
}

/** Is told of each change of a model's circuit; `undefined`: it closed. Contract: does not throw. */
type OnCircuit = (model: string, open: OpenCircuit | undefined) => void;

/** Failures in a row, across chats, that cannot be chance: each chat alone gives up earlier. */
const FAILURES_MAX = 8;
const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 60_000;
const ENDPOINT: ReadonlySet<FailureReason> = new Set([
  'overloaded',
  'server_error',
  'network',
  'timeout',
  'cut_stream',
  'rate_limited',
]);
const UNANSWERED: ReadonlySet<FailureReason> = new Set(['aborted', 'invalid_request']);

/** Whether a failure is about the endpoint rather than the request. */
export function isEndpointTrouble(reason: FailureReason): boolean {
  return ENDPOINT.has(reason);
}

/**
 * Spares an endpoint in trouble: after 8 failures in a row, across all chats, no call is made for a pause that grows
 * from 5 seconds to a minute; then one call probes, and the others follow when it succeeds. So five hundred chats do
 * not all retry at once, and their messages use up no attempts meanwhile. Each model has its own circuit. A call that
 * is not made fails as `paused`, with the remaining wait.
 */
export function withBreaker(
  model: Model,
  now: () => number = Date.now,
  random: () => number = Math.random,
  onChange: OnCircuit = () => {},
): Model & Breaker {
  const circuits = new Map<string, Circuit>();
  const circuitOf = (name: string): Circuit => {
    const known = circuits.get(name) ?? { failures: 0, trips: 0, openedMs: 0, pausedUntilMs: 0, probing: false };
    circuits.set(name, known);
    return known;
  };
  return {
    ...model,
    open: () => new Map([...circuits].map(([name, { trips }]) => [name, trips > 0])),
    async send(request, signal, onText) {
      const circuit = circuitOf(request.model);
      const isOpen = circuit.trips > 0;
      if (isOpen && (now() < circuit.pausedUntilMs || circuit.probing)) return notCalled(circuit, now(), random);
      if (isOpen) circuit.probing = true;
      try {
        const result = await model.send(request, signal, onText);
        const { trips } = circuit;
        if (!isBeyondRate(request, result)) learn(circuit, result, isOpen, now(), random);
        if (circuit.trips !== trips) onChange(request.model, openCircuit(circuit));
        return result;
      } finally {
        if (isOpen) circuit.probing = false;
      }
    },
  };
}

/** Whether a limit of rates is smaller than the request: no wait lets it through, and the endpoint takes smaller ones. */
function isBeyondRate(request: ModelRequest, result: ModelResult): boolean {
  const rateTokens = result.ok ? undefined : result.failure.rateTokens;
  return rateTokens !== undefined && rateTokens < estimateRequest(request);
}

function openCircuit({ trips, openedMs, pausedUntilMs }: Circuit): OpenCircuit | undefined {
  return trips === 0 ? undefined : { sinceMs: openedMs, untilMs: pausedUntilMs };
}

function learn(circuit: Circuit, result: ModelResult, wasProbe: boolean, nowMs: number, random: () => number): void {
  if (result.ok || !isEndpointTrouble(result.failure.reason)) {
    // The result of an aborted call is unknown, and an invalid request is not sent; any other answer shows that the
    // endpoint is up.
    if (result.ok || !UNANSWERED.has(result.failure.reason)) Object.assign(circuit, { failures: 0, trips: 0 });
    return;
  }
  circuit.failures += 1;
  const isEnough = wasProbe || circuit.failures >= FAILURES_MAX;
  if (!isEnough || nowMs < circuit.pausedUntilMs) return;
  if (circuit.trips === 0) circuit.openedMs = nowMs;
  circuit.trips += 1;
  const pauseMs = Math.min(PAUSE_MS * 2 ** (circuit.trips - 1), PAUSE_MS_MAX);
  circuit.pausedUntilMs = nowMs + Math.round(pauseMs * (0.8 + 0.2 * random()));
}

/** Chats return spread over a second, or all of them would arrive for the same probe. */
function notCalled({ pausedUntilMs }: Circuit, nowMs: number, random: () => number): ModelResult {
  const retryAfterMs = Math.max(0, pausedUntilMs - nowMs) + Math.round(500 + 1_000 * random());
  return { ok: false, failure: { kind: 'transient', reason: 'paused', retryAfterMs } };
}
