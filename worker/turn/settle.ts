import { SpanKind } from '@opentelemetry/api';
import { METRIC, SPAN, traceIdOf } from '../../shared/base/telemetry.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { type Attempt, type Conclusion, FencedError } from '../lane/attempt.ts';
import type { OutcomeRecord } from '../lane/lane.ts';
import type { Delivered } from '../lane/verdict.ts';
import type { ProcessorPorts } from './processor.ts';

/** A settled message, as the ledger and the operator see it. */
interface Settled {
  entry: EntryId;
  traceparent: string;
  sentAtMs?: number;
}

/**
 * Settles a message and those that end with it, and makes the lane's next head a job. Contract: throws `FencedError`,
 * or what Redis throws.
 */
export async function settle(
  ports: ProcessorPorts,
  attempt: Attempt,
  { conclusion, delivery, keepsAnswer }: Extract<Delivered, { kind: 'settle' }>,
): Promise<void> {
  const { entry, traceparent, attempts, recoveries } = attempt;
  const { outcome } = conclusion;
  const own: Settled = { entry, traceparent, ...(attempt.message.ok && { sentAtMs: attempt.message.value.sentAtMs }) };
  const also = conclusion.also ? await ports.turn.lane.glance(conclusion.also) : [];
  const settledAtMs = attempt.nowMs();
  const recordOf = (settled: Settled, tried: Pick<OutcomeRecord, 'attempts' | 'recoveries'>) =>
    recordFor(attempt, conclusion, settled, { settledAtMs, ...tried, ...(delivery && { delivery }) });
  const { result, next } = await ports.turn.ask.observability.telemetry.span(
    SPAN.settle,
    { 'messaging.system': 'redis', 'messaging.message.id': entry, 'spillway.outcome': outcome },
    () =>
      ports.turn.lane.settle(
        attempt,
        recordOf(own, { attempts, recoveries }),
        also.map((each) => recordOf(each, { attempts: 0, recoveries: 0 })),
        keepsAnswer,
      ),
    { kind: SpanKind.CLIENT },
  );
  if (result === 'fenced') throw new FencedError();
  ports.turn.ask.observability.reach('settled');
  for (const each of [own, ...also]) tellSettled(ports, attempt, conclusion, each, settledAtMs);
  if (!next) return;
  await ports.queue.add([next]);
  ports.turn.ask.observability.reach('next added');
}

function recordFor(
  { chat, session }: Attempt,
  { outcome, reason, into }: Conclusion,
  { entry, traceparent, sentAtMs }: Settled,
  rest: Pick<OutcomeRecord, 'settledAtMs' | 'attempts' | 'recoveries' | 'delivery'>,
): OutcomeRecord {
  return {
    entry,
    chat,
    outcome,
    ...(reason !== undefined && { reason }),
    ...(into !== undefined && { into }),
    traceId: traceIdOf(traceparent),
    ...(sentAtMs !== undefined && { sentAtMs }),
    ...rest,
    session,
  };
}

function tellSettled(
  ports: ProcessorPorts,
  attempt: Attempt,
  { outcome, reason, parts: answered }: Conclusion,
  { entry, traceparent, sentAtMs }: Settled,
  settledAtMs: number,
): void {
  const { settings, observability } = ports.turn.ask;
  const { telemetry, log } = observability;
  telemetry.count(METRIC.outcomes, { outcome });
  if (sentAtMs !== undefined) telemetry.recordMs(METRIC.latency, settledAtMs - sentAtMs, { outcome });
  const isOwn = entry === attempt.entry;
  const content =
    settings.logContent && isOwn && attempt.message.ok
      ? { content: { asked: attempt.message.value.content, answered } }
      : {};
  log.info({ entry, chat: attempt.chat, outcome, reason, traceId: traceIdOf(traceparent), ...content }, 'settled');
}
