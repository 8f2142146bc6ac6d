import type { FailureReason } from '../../shared/flow/failure.ts';
import { estimateRequest } from './count.ts';
import type { Model, ModelRequest, ModelResult } from './port.ts';

/** The circuit of one model's endpoint. */
interface Circuit {
  /** The number of endpoint failures since a result last proved that the endpoint is up. */
  failures: number;
  /** How often the circuit has opened since it was last closed; 0 while it is closed. */
  trips: number;
  /** The time at which the circuit first opened after it had been closed. */
  openedMs: number;
  /** While the circuit is open, no calls are made before this time. */
  pausedUntilMs: number;
  isProbing: boolean;
}

/** The state of a breaker. */
export interface Breaker {
  /** Each model that has been called so far, and whether its circuit is open. */
  open(): ReadonlyMap<string, boolean>;
}

/** An open circuit: the time at which it opened, and the time from which a call may probe the endpoint. */
export interface OpenCircuit {
  sinceMs: number;
  untilMs: number;
}

/** Called with each change of a model's circuit; `undefined` when the circuit closes. Contract: does not throw. */
type OnCircuit = (model: string, open: OpenCircuit | undefined) => void;

/** This many failures in a row, of all chats together, open the circuit. */
const FAILURES_MAX = 8;
const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 60_000;
const ENDPOINT_REASONS: ReadonlySet<FailureReason> = new Set([
  'overloaded',
  'server_error',
  'network',
  'timeout',
  'cut_stream',
  'rate_limited',
]);
const UNCLEAR_REASONS: ReadonlySet<FailureReason> = new Set(['aborted', 'invalid_request']);

/** Whether a failure was caused by the endpoint or the connection to it, not by the request. */
export function isEndpointTrouble(reason: FailureReason): boolean {
  return ENDPOINT_REASONS.has(reason);
}

/**
 * Adds a circuit breaker for each model. After 8 failures in a row, of all chats together, the circuit opens: calls fail as
 * `paused`, with the remaining wait, for a pause that grows from 5 seconds to a minute. Then one call probes, and closes the
 * circuit if it proves that the endpoint is up. So the chats do not all retry at once, and their messages use up no attempts
 * while the circuit is open.
 */
export function withBreaker(
  model: Model,
  now: () => number = Date.now,
  random: () => number = Math.random,
  onChange: OnCircuit = () => {},
): Model & Breaker {
  const circuits = new Map<string, Circuit>();
  const circuitOf = (name: string): Circuit => {
    const circuit = circuits.get(name) ?? { failures: 0, trips: 0, openedMs: 0, pausedUntilMs: 0, isProbing: false };
    circuits.set(name, circuit);
    return circuit;
  };
  return {
    ...model,
    open: () => new Map([...circuits].map(([name, { trips }]) => [name, trips > 0])),
    async send(request, signal, onText) {
      const circuit = circuitOf(request.model);
      const isOpen = circuit.trips > 0;
      if (isOpen && (now() < circuit.pausedUntilMs || circuit.isProbing)) return notCalled(circuit, now(), random);
      if (isOpen) circuit.isProbing = true;
      try {
        const result = await model.send(request, signal, onText);
        const { trips } = circuit;
        if (!isBeyondRate(request, result)) updateCircuit(circuit, result, isOpen, now(), random);
        if (circuit.trips !== trips) onChange(request.model, openCircuit(circuit));
        return result;
      } finally {
        if (isOpen) circuit.isProbing = false;
      }
    },
  };
}

/** Whether the request alone exceeds a rate limit: no wait would help, but the endpoint still accepts smaller requests. */
function isBeyondRate(request: ModelRequest, result: ModelResult): boolean {
  const rateTokens = result.ok ? undefined : result.failure.rateTokens;
  return rateTokens !== undefined && rateTokens < estimateRequest(request);
}

function openCircuit({ trips, openedMs, pausedUntilMs }: Circuit): OpenCircuit | undefined {
  return trips === 0 ? undefined : { sinceMs: openedMs, untilMs: pausedUntilMs };
}

function updateCircuit(
  circuit: Circuit,
  result: ModelResult,
  wasProbe: boolean,
  nowMs: number,
  random: () => number,
): void {
  if (result.ok || !isEndpointTrouble(result.failure.reason)) {
    // An aborted call proves nothing, and an invalid request is not sent. Any other result proves that the endpoint is up.
    if (result.ok || !UNCLEAR_REASONS.has(result.failure.reason)) Object.assign(circuit, { failures: 0, trips: 0 });
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

/** The failure of a call that was not made. A random extra 0.5 to 1.5 seconds keeps chats from retrying all at once. */
function notCalled({ pausedUntilMs }: Circuit, nowMs: number, random: () => number): ModelResult {
  const retryAfterMs = Math.max(0, pausedUntilMs - nowMs) + Math.round(500 + 1_000 * random());
  return { ok: false, failure: { kind: 'transient', reason: 'paused', retryAfterMs } };
}
