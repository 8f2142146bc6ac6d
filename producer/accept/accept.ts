import { SpanKind } from '@opentelemetry/api';
import type { AllowedIds } from '../../shared/base/config.ts';
import type { ReachFailpoint } from '../../shared/base/failpoint.ts';
import type { Logger } from '../../shared/base/log.ts';
import { METRIC, SPAN, type Telemetry, traceparent } from '../../shared/base/telemetry.ts';
import { type InboundMessage, UnreadableMessageError } from '../../shared/flow/message.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { OwnName } from '../receive/bot-profile.ts';
import type { Inbox } from './inbox.ts';
import { intake } from './read-update.ts';

export interface AcceptanceParts {
  telegram: Pick<Telegram, 'botId'>;
  inbox: Inbox;
  allowed: AllowedIds;
  textMaxChars: number;
  ownName: OwnName;
  telemetry: Telemetry;
  log: Logger;
  reach: ReachFailpoint;
}

/**
 * Takes in one update, from a poll or a delivery: puts it on the stream, or ignores it on purpose and counts that.
 *
 * Contract: when it resolves, the update is dealt with and may be confirmed to Telegram; a second call has the same
 * result. Rejects when the update could not be stored; it must then come again. Idempotent per update id.
 */
export async function acceptUpdate(parts: AcceptanceParts, update: unknown): Promise<void> {
  parts.reach('update received');
  const decided = intake(update, parts.allowed, parts.textMaxChars, parts.ownName.current());
  if (!decided.accept) {
    parts.telemetry.count(METRIC.ignored, { reason: decided.reason });
    parts.log.debug({ reason: decided.reason }, 'update ignored');
    return;
  }
  try {
    await store(parts, decided.message);
  } catch (error) {
    if (!(error instanceof UnreadableMessageError)) throw error;
    // A retry would fail again, and hold up every chat behind it.
    parts.telemetry.count(METRIC.ignored, { reason: 'malformed' });
    const { updateId } = decided.message;
    parts.log.error({ err: error, update: updateId }, 'an update that we cannot write down was passed over');
    return;
  }
  parts.reach('accepted');
}

async function store({ telegram, inbox, telemetry }: AcceptanceParts, message: InboundMessage): Promise<void> {
  const attributes = { 'messaging.system': 'telegram', 'spillway.update.id': message.updateId };
  await telemetry.span(
    SPAN.receive,
    attributes,
    () =>
      telemetry.span(
        SPAN.accept,
        { 'messaging.system': 'redis', 'messaging.destination.name': 'inbound' },
        async (span) => {
          const { entry, duplicate } = await inbox.accept(telegram.botId, message, traceparent());
          span.setAttributes({ 'messaging.message.id': entry, 'spillway.duplicate': duplicate });
          if (!duplicate) telemetry.count(METRIC.accepted, {});
        },
        { kind: SpanKind.PRODUCER },
      ),
    { kind: SpanKind.CONSUMER, root: true },
  );
}
