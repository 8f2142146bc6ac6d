import { SpanKind } from '@opentelemetry/api';
import { METRIC, SPAN, traceparent } from '../../shared/base/telemetry.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { chatKey } from '../../shared/redis/keys.ts';
import type { EditResult, Inbox } from '../../shared/state/message/inbox.ts';
import type { AcceptPorts } from './accept.ts';

type Ports = Pick<AcceptPorts, 'botId' | 'inbox' | 'observability'>;

/** Why an edit changed nothing, as it is counted. */
const IGNORED: Readonly<Record<Exclude<EditResult, 'new' | 'repeated' | 'replaced'>, string>> = {
  unchanged: 'edit_unchanged',
  'too late': 'edit_too_late',
  command: 'edit_of_a_command',
  unknown: 'edit_unknown',
};

/** Puts a message on the stream, once. Contract: as `Inbox.accept`. */
export async function store(ports: Ports, message: InboundMessage): Promise<'accepted'> {
  await traced(ports, message, (inbox) => inbox.accept(ports.botId, message, traceparent()));
  return 'accepted';
}

/**
 * Applies an edit. Returns `accepted` where it became a message of its own, `replaced` where it changed one that waits,
 * or else why it is ignored. Contract: as `Inbox.edit`.
 */
export async function storeEdit(ports: Ports, message: InboundMessage, mayBeNew: boolean): Promise<string> {
  const { result } = await traced(ports, message, async (inbox) => {
    const edited = await inbox.edit(ports.botId, message, traceparent(), mayBeNew);
    return { ...edited, duplicate: edited.result !== 'new' };
  });
  if (result === 'new' || result === 'repeated') return 'accepted';
  return result === 'replaced' ? result : IGNORED[result];
}

async function traced<Stored extends { entry: string; duplicate: boolean }>(
  { inbox, observability: { telemetry } }: Ports,
  message: InboundMessage,
  put: (inbox: Inbox) => Promise<Stored>,
): Promise<Stored> {
  const attributes = {
    'messaging.system': 'telegram',
    'spillway.update.id': message.updateId,
    ...telemetry.chat(chatKey(message.chatId, message.topicId)),
  };
  return telemetry.span(
    SPAN.receive,
    attributes,
    () =>
      telemetry.span(
        SPAN.accept,
        { 'messaging.system': 'redis', 'messaging.destination.name': 'inbound' },
        async (span) => {
          const stored = await put(inbox);
          span.setAttributes({ 'messaging.message.id': stored.entry, 'spillway.duplicate': stored.duplicate });
          if (!stored.duplicate) telemetry.count(METRIC.accepted, {});
          return stored;
        },
        { kind: SpanKind.PRODUCER },
      ),
    { kind: SpanKind.CONSUMER, root: true },
  );
}
