import type { AuditEvent } from '../lane/events.ts';
import type { OutcomeRecord } from '../lane/lane.ts';

/** How often each of several things was seen. */
export type Counts = Record<string, number>;

/** Counts one more. */
export function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** The proof of a ledger for the replies that it calls delivered. Each message is counted once. */
export interface DeliveryProof {
  /** Telegram confirmed every part. */
  confirmed: number;
  /** A part was repeated, marked, while Telegram confirmed other messages; of the repeat it said nothing. */
  unsure: number;
  /** Written by a version that kept no proof, or nothing was sent. */
  unknown: number;
  /** Called delivered, although a part was neither confirmed nor repeated: there must be none. */
  unconfirmed: number;
  /** The entries of the first of those. */
  unconfirmedEntries: string[];
}

const ENTRIES_MAX = 10;
const DELIVERED = new Set(['answered', 'command']);

/** Adds a line of the ledger. Lines that call nothing delivered are no part of the proof. */
export function addToProof(proof: DeliveryProof, { entry, outcome, delivery }: OutcomeRecord): void {
  if (!DELIVERED.has(outcome)) return;
  if (delivery === undefined) {
    proof.unknown += 1;
    return;
  }
  const { parts, confirmed, unsure } = delivery;
  if (!(parts > 0 && confirmed >= 0 && unsure >= 0 && confirmed + unsure === parts)) {
    proof.unconfirmed += 1;
    if (proof.unconfirmedEntries.length < ENTRIES_MAX) proof.unconfirmedEntries.push(entry);
  } else if (unsure > 0) proof.unsure += 1;
  else proof.confirmed += 1;
}

/** How requests of a period were handled that did not fit or were not taken. */
export type ContextSafety = ReturnType<typeof emptySafety>;

/** Of a period in which nothing happened. */
export function emptySafety() {
  return {
    /** By kind of failure, then by phase: `counted` before the call, `refused` by the provider. */
    exceeded: {} as Record<string, Counts>,
    compacted: 0,
    compactionFailed: {} as Counts,
    forcePruned: 0,
    newSessions: 0,
    scrubbed: {} as Record<string, { messages: number; parts: number; bytes: number }>,
    thinkingDropped: 0,
    outputLowered: 0,
    gaveUp: 0,
    capped: {} as Counts,
    /** Requests that were not sent, by the rule of the API that they break. */
    invalid: {} as Counts,
    tornRecords: 0,
  };
}

type Tally<E extends AuditEvent['event']> = (safety: ContextSafety, event: Extract<AuditEvent, { event: E }>) => void;

const TALLIES: { readonly [E in AuditEvent['event']]?: Tally<E> } = {
  'context.exceeded': (safety, { kind, phase }) => {
    safety.exceeded[kind] ??= {};
    count(safety.exceeded[kind], phase);
  },
  'context.compacted': tallyOf('compacted'),
  'context.compaction-failed': ({ compactionFailed }, { reason }) => count(compactionFailed, reason),
  'context.force-pruned': tallyOf('forcePruned'),
  'context.new-session': tallyOf('newSessions'),
  'context.scrubbed': ({ scrubbed }, { kind, parts, bytes }) => {
    const before = scrubbed[kind] ?? { messages: 0, parts: 0, bytes: 0 };
    scrubbed[kind] = { messages: before.messages + 1, parts: before.parts + parts, bytes: before.bytes + bytes };
  },
  'context.thinking-dropped': tallyOf('thinkingDropped'),
  'context.output-lowered': tallyOf('outputLowered'),
  'context.gave-up': tallyOf('gaveUp'),
  'message.capped': ({ capped }, { kind }) => count(capped, kind),
  'request.invalid': ({ invalid }, { rule }) => count(invalid, rule),
  'session.torn': (safety, { records }) => {
    safety.tornRecords += records;
  },
};

/** Adds an event of the audit trail; ignores those that are about something else. */
export function addToSafety(safety: ContextSafety, event: AuditEvent): void {
  const tally = TALLIES[event.event] as ((safety: ContextSafety, event: AuditEvent) => void) | undefined;
  tally?.(safety, event);
}

type Plain = { [F in keyof ContextSafety]: ContextSafety[F] extends number ? F : never }[keyof ContextSafety];

function tallyOf(figure: Plain): (safety: ContextSafety) => void {
  return (safety) => {
    safety[figure] += 1;
  };
}
