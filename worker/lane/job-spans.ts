import type { QueueBase } from 'bullmq';

/** What BullMQ does with one job and an engineer wants to see: its run, and how a run that threw ended. */
const SHOWN: ReadonlySet<string> = new Set(['process', 'delay', 'retry', 'fail']);

/**
 * Has a queue or a worker make only the spans that say something of a message. Of the others, some would be traces of one
 * span every few seconds, and some cost each turn time and say nothing that its other spans do not.
 */
export function keepJobSpans(part: QueueBase): void {
  const trace = part.trace.bind(part);
  part.trace = async (kind, operation, destination, work, parent) =>
    SHOWN.has(operation) ? trace(kind, operation, destination, work, parent) : work();
}
