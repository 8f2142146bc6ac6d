import { expect, test } from '@jest/globals';
import type { QueueBase } from 'bullmq';
import { keepJobSpans } from '../../../../worker/lane/job-spans.ts';

/** Which of these operations of BullMQ make a span; each of them must be done. */
async function spansOf(operations: readonly string[]): Promise<string[]> {
  const made: string[] = [];
  const trace: QueueBase['trace'] = async (_kind, operation, _destination, work) => {
    made.push(operation);
    return work();
  };
  const part = { trace } as QueueBase;
  keepJobSpans(part);
  for (const operation of operations)
    expect(await part.trace(0, operation, 'turns', async () => `${operation} is done`)).toBe(`${operation} is done`);
  return made;
}

test("a job's run, and how one that threw ended, are spans", async () => {
  const operations = ['process', 'delay', 'retry', 'fail'];
  expect(await spansOf(operations)).toEqual(operations);
});

test('what BullMQ does for itself is done without a span', async () => {
  expect(await spansOf(['getNextJob', 'addBulk', 'extendLocks', 'complete', 'pause', 'resume'])).toEqual([]);
});
