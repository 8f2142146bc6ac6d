import { SpanKind } from '@opentelemetry/api';
import type { AllowedIds } from '../../shared/base/config.ts';
import type { Instruments } from '../../shared/base/instruments.ts';
import { METRIC, SPAN, traceparent } from '../../shared/base/telemetry.ts';
import { type InboundMessage, UnreadableMessageError } from '../../shared/flow/message.ts';
import type { OwnName } from '../receive/bot-profile.ts';
import { FollowUps } from './follow-up.ts';
import type { Gate } from './gate.ts';
import type { Inbox } from './inbox.ts';
import { type GroupMove, moveOf } from './read-move.ts';
import { pressIdOf, readPress } from './read-press.ts';
import { isStop, readStop } from './read-stop.ts';
import { readUpdate, type UpdateReading } from './read-update.ts';

export interface AcceptPorts {
  botId: number;
  inbox: Inbox;
  allowed: AllowedIds;
  answersAll: AllowedIds;
  textMaxChars: number;
  ownName: OwnName;
  /** Ends the wait of an app whose user pressed a button. Contract: never rejects; nothing depends on it. */
  answerPress: (pressId: string) => Promise<unknown>;
  instruments: Instruments;
}

/**
 * Takes in one update, from a poll or a delivery: puts it on the stream, or ignores it on purpose and counts that.
 *
 * Contract: when it resolves, the update is dealt with and may be confirmed to Telegram; a second call has the same
 * result. Rejects when the update could not be stored; it must then come again. Idempotent per update id.
 */
export type AcceptUpdate = (update: unknown) => Promise<void>;

/** Accepts the updates of one bot into an inbox. Remembers which messages and groups belong to those it has taken. */
export function createAccept(ports: AcceptPorts): AcceptUpdate {
  const { telemetry, log, reach } = ports.instruments;
  const open = followedGroups(ports);
  const followUps = new FollowUps();
  return async (update) => {
    reach('update received');
    const gate = { ...open, bot: { id: ports.botId, name: ports.ownName.current() } };
    const move = moveOf(update, gate);
    if (move !== undefined) {
      await ports.inbox.reportMove(move);
      open.follow(move);
    }
    const decided = read(update, gate, ports.textMaxChars);
    if (!decided.accept && !(decided.reason === 'not_addressed' && followUps.includes(decided.message))) {
      telemetry.count(METRIC.ignored, { reason: decided.reason });
      log.debug({ reason: decided.reason }, 'update ignored');
      return;
    }
    const pressId = pressIdOf(update);
    try {
      await store(ports, decided.message);
      // Only now: a press whose app goes on waiting is pressed again.
      if (pressId !== undefined) void ports.answerPress(pressId);
      followUps.note(decided.message);
    } catch (error) {
      if (!(error instanceof UnreadableMessageError)) throw error;
      // A retry would fail again, and hold up every chat behind it.
      telemetry.count(METRIC.ignored, { reason: 'malformed' });
      const { updateId } = decided.message;
      log.error({ err: error, update: updateId }, 'an update that cannot be encoded was skipped');
      return;
    }
    reach('accepted');
  };
}

/** Decides about one update, by its kind. */
function read(update: unknown, gate: Gate, textMaxChars: number): UpdateReading {
  if (isStop(update)) return readStop(update, gate, Date.now());
  if (pressIdOf(update) !== undefined) return readPress(update, gate, Date.now());
  return readUpdate(update, gate, textMaxChars);
}

/** The groups that are open, also under the ids to which they move while this process runs. */
function followedGroups({ allowed, answersAll }: AcceptPorts) {
  const groups = {
    allowed: allowed === 'everyone' ? allowed : new Set(allowed),
    answersAll: answersAll === 'everyone' ? answersAll : new Set(answersAll),
  };
  return {
    ...groups,
    follow({ from, to }: GroupMove): void {
      for (const ids of [groups.allowed, groups.answersAll]) if (ids !== 'everyone' && ids.has(from)) ids.add(to);
    },
  };
}

async function store({ botId, inbox, instruments }: AcceptPorts, message: InboundMessage): Promise<void> {
  const { telemetry } = instruments;
  const attributes = { 'messaging.system': 'telegram', 'spillway.update.id': message.updateId };
  await telemetry.span(
    SPAN.receive,
    attributes,
    () =>
      telemetry.span(
        SPAN.accept,
        { 'messaging.system': 'redis', 'messaging.destination.name': 'inbound' },
        async (span) => {
          const { entry, duplicate } = await inbox.accept(botId, message, traceparent());
          span.setAttributes({ 'messaging.message.id': entry, 'spillway.duplicate': duplicate });
          if (!duplicate) telemetry.count(METRIC.accepted, {});
        },
        { kind: SpanKind.PRODUCER },
      ),
    { kind: SpanKind.CONSUMER, root: true },
  );
}
