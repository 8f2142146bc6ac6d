import { commandIn } from '../../shared/flow/message.ts';
import type { BreakerView } from '../../shared/telegram/breaker.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import { isPermitted } from '../../shared/telegram/commands.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { undeliveredAlert } from '../alerts/messages.ts';
import { conversationRequest } from '../ask/call.ts';
import { outOfTime } from '../ask/silences.ts';
import type { TurnTime } from '../ask/time.ts';
import { type CommandPorts, carryOut } from '../command/commands.ts';
import {
  type Attempt,
  ageMs,
  BY_OPERATOR,
  CANCELLED,
  type Conclusion,
  isOfGuest,
  MODEL,
  MODEL_GONE,
  REFUSED,
  SAID,
} from '../lane/attempt.ts';
import type { Lane } from '../lane/lane.ts';
import type { Settings } from '../lane/settings.ts';
import { type Concluding, cancelled, conclude, type Decision, failed, refused, type Verdict } from '../lane/verdict.ts';
import type { Transcriber } from '../media/transcriber.ts';
import { compactAfterReply } from '../recovery/stage-1.ts';
import { healed } from '../reply/format/heal.ts';
import { unsupportedKind } from '../reply/notices.ts';
import { planned } from '../reply/plan.ts';
import type { ProgressViews } from '../reply/progress.ts';
import { showTyping } from '../reply/typing.ts';
import { onlyReading } from '../tools/toolboxes.ts';
import { answer } from './answering.ts';
import { failTogether, gather, mergedConclusion } from './coalesce.ts';
import { insteadOfNothing } from './cut-answer.ts';
import { deliverConclusion } from './delivery.ts';
import { waitingNotice, withLateness } from './due-reminder.ts';
import { destinationOf } from './moved-chat.ts';
import { notTaken } from './not-taken.ts';
import { withSetForLater } from './set-for-later.ts';
import { isStored, storeConclusion, withNotices } from './stored-conclusion.ts';
import { heldBack } from './telegram-wait.ts';
import { soundIn } from './transcripts.ts';
import { undelivered } from './undelivered.ts';

/** What a turn works with. */
export interface TurnPorts {
  /** What the model is asked with. */
  ask: CommandPorts['ask'];
  telegram: Telegram;
  breaker: BreakerView;
  progress: ProgressViews;
  /** What commands work with besides. */
  commands: Omit<CommandPorts, 'ask'>;
  /** Absent without an endpoint that turns speech into text. */
  transcriber: Transcriber | undefined;
  lane: Pick<Lane, 'behind' | 'conclusionOf' | 'refusedBehind'>;
}

/** During a deploy, a newer worker takes over what this one cannot read; if none does, the user is notified. */
const NEWER_MS_MAX = 600_000;
const NEWER_RETRY_MS = 2_000;

/**
 * One attempt at a message: conclude it unless an earlier attempt did, then deliver. Contract: throws `FencedError`
 * when another attempt took over, or what Redis throws; every other failure is a verdict.
 */
export async function runTurn(all: TurnPorts, begun: Attempt, time: TurnTime): Promise<Verdict> {
  const attempt = withLateness(begun, all.ask.settings);
  const ports = withOwnTools(withChosenModel(all, attempt), attempt);
  const to = destinationOf(attempt);
  const held = await heldBack(ports, attempt);
  if (held) return held;
  if (attempt.conclusion) return deliverAndClear(ports, attempt, attempt.conclusion, to, { isNew: false });
  const stopTyping = showTyping(ports.telegram, to);
  try {
    const decided = await decide(ports, attempt, to, time);
    if (decided.kind !== 'conclude') {
      if (time.signal.aborted) return { kind: 'hand back' };
      await tellWaiting(ports, attempt, to, decided);
      return decided;
    }
    const conclusion = await withSetForLater(ports, attempt, withNotices(attempt, decided.conclusion), decided);
    const stored = await storeConclusion(attempt, conclusion, decided.commands);
    if (stored === 'unmet') {
      await attempt.write('cancelled meanwhile', decided.ifCancelled ?? []);
      return { kind: 'hand back' };
    }
    // Two different answers must never be sent: the next attempt delivers the stored one.
    if (stored === 'repeated' && !(await isStored(ports, attempt, conclusion))) return { kind: 'again' };
    await ports.ask.endpoint.storm.ended(attempt, conclusion.outcome === 'answered');
    ports.ask.instruments.reach('answer stored');
    await stopTyping();
    const isFollowed = decided.afterReply !== undefined;
    const verdict = await deliverAndClear(ports, attempt, conclusion, to, { isNew: true, isFollowed });
    // No user waits for this, and the chat's next message cannot run in between.
    if (verdict.kind === 'settle' && decided.afterReply) {
      const { opened, room } = decided.afterReply;
      const about = { room, conversation: () => conversationRequest(ports.ask, { attempt, opened }) };
      await time.recovering(ports.ask.settings.recoveryTimeoutMs, (own, deadline) =>
        compactAfterReply(ports.ask, attempt, opened, about, { signal: own, deadline }),
      );
    }
    return verdict;
  } finally {
    await stopTyping();
  }
}

/** Delivers a conclusion, and takes away what showed that it was coming, or the button that asked for it. */
async function deliverAndClear(
  ports: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: Destination,
  { isNew, isFollowed = false }: { isNew: boolean; isFollowed?: boolean },
): Promise<Verdict> {
  const isLeft = ports.progress.isLeft(attempt);
  const verdict = await deliverConclusion(ports, attempt, conclusion, to, { isNew, isFollowed: isFollowed || isLeft });
  if (verdict.kind !== 'settle') return verdict;
  if (isLeft) await ports.progress.clear(attempt, to);
  // Nothing depends on this call. A press that was refused has done nothing: the button is still for the others.
  if (attempt.message.ok && attempt.message.value.pressed !== undefined && conclusion.outcome !== 'refused')
    void ports.telegram.removeButtons(to, attempt.message.value.pressed);
  return verdict;
}

/** A chat may use another model than the default, as long as the operator allows that one and the endpoint knows it. */
function withChosenModel(ports: TurnPorts, attempt: Attempt): TurnPorts {
  const { settings } = ports.ask;
  const modelName = attempt.choice(MODEL) ?? settings.modelName;
  if (modelName === settings.modelName || !settings.models.includes(modelName)) return ports;
  if (attempt.field(MODEL_GONE) === modelName) return ports;
  return { ...ports, ask: { ...ports.ask, settings: { ...settings, modelName, statedWindowTokens: undefined } } };
}

/** A guest of a group has the tools that only read. */
function withOwnTools(ports: TurnPorts, attempt: Attempt): TurnPorts {
  if (!isOfGuest(attempt)) return ports;
  return { ...ports, ask: { ...ports.ask, tools: onlyReading(ports.ask.tools) } };
}

/**
 * Ends a message whose turn threw on every try. If it has a conclusion, it could not be delivered; otherwise it failed,
 * and its user is notified where that does not throw.
 */
export async function failTurn(ports: TurnPorts, begun: Attempt, reason: string, detail: string): Promise<Verdict> {
  const attempt = withLateness(begun, ports.ask.settings);
  if (attempt.conclusion)
    return undelivered(attempt, attempt.conclusion, {
      outcome: 'failed',
      reason,
      alert: undeliveredAlert(attempt, `${reason}: ${detail}`),
    });
  const ended = failed(attempt, reason, attempt.texts.unavailable, detail);
  const decided = failTogether(attempt, await insteadOfNothing(ports.ask, attempt, ended));
  if (decided.kind !== 'conclude') return decided;
  const told = await withSetForLater(ports, attempt, withNotices(attempt, decided.conclusion), decided);
  const stored = await storeConclusion(attempt, told, decided.commands);
  if (stored === 'unmet') return { kind: 'again' };
  if (stored === 'repeated' && !(await isStored(ports, attempt, told))) return { kind: 'again' };
  return deliverAndClear(ports, attempt, told, destinationOf(attempt), { isNew: true });
}

/**
 * A user whose message waits for long is notified once. If the process is killed before sending, the notice is lost:
 * the answer will come.
 */
async function tellWaiting(ports: TurnPorts, attempt: Attempt, to: Destination, decided: Decision): Promise<void> {
  if (decided.kind !== 'later' || decided.isLongWait !== true) return;
  if ((await attempt.write('waiting told', [])) === 'repeated') return;
  await ports.telegram.sendMessage(to, waitingNotice(attempt));
}

async function decide(ports: TurnPorts, attempt: Attempt, to: Destination, time: TurnTime): Promise<Decision> {
  if (!attempt.message.ok && attempt.message.isNewer && ageMs(attempt) < NEWER_MS_MAX)
    return { kind: 'later', delayMs: NEWER_RETRY_MS, reason: 'newer_version', isFree: true };
  if (!attempt.message.ok) return failed(attempt, 'undecodable', attempt.texts.unreadable, attempt.message.problem);
  const message = attempt.message.value;
  const before = concludedBefore(attempt);
  if (before) return conclude(before);
  if (attempt.field(REFUSED) !== undefined && message.content.kind !== 'reminder') return notTaken(ports, attempt);
  const ended = outOfTime(attempt, ports.ask.settings) ?? outOfAttempts(attempt, ports.ask.settings);
  if (ended) return failTogether(attempt, await insteadOfNothing(ports.ask, attempt, ended));
  const command = commandIn(message);
  if (command && !isPermitted(command, message.from))
    return conclude(refused('not_permitted', attempt.texts.notPermitted));
  const isGroup = message.chatType !== 'private';
  if (command) return carryOut({ ...ports.commands, ask: ports.ask }, command, { attempt, isGroup, time });
  const { commentWaitMs } = ports.ask.settings;
  const gathered = await gather({ lane: ports.lane, commentWaitMs }, attempt, message, time.signal);
  if (gathered.kind === 'decided') return gathered.decision;
  const { pieces } = gathered;
  const canHear = ports.transcriber !== undefined && soundIn(message) !== undefined;
  if (message.content.kind === 'unsupported' && pieces.length === 0 && !canHear)
    return conclude(refused('unsupported_kind', unsupportedKind(attempt.texts, message.content.what)));
  return failTogether(attempt, await answer(ports, attempt, { message, pieces }, to, time), pieces);
}

function outOfAttempts(attempt: Attempt, { maxAttempts }: Pick<Settings, 'maxAttempts'>): Concluding | undefined {
  if (attempt.attempts <= maxAttempts) return undefined;
  return failed(attempt, 'attempts_used_up', attempt.texts.unavailable, 'each attempt was cut short');
}

/** What another message decided about this one while it waited. */
function concludedBefore(attempt: Attempt): Conclusion | undefined {
  const cancelledBy = attempt.field(CANCELLED);
  return mergedConclusion(attempt) ?? (cancelledBy === undefined ? undefined : stopped(attempt, cancelledBy));
}

/** A message that its user cancelled. What the model had said until then is kept, and says that it is not all. */
function stopped(attempt: Attempt, command: string): Conclusion {
  const said = attempt.field(SAID);
  if (said === undefined) return cancelled(command, command === BY_OPERATOR ? [attempt.texts.stoppedByOperator] : []);
  return { ...cancelled(command), ...planned([], `${healed(said)}\n\n${attempt.texts.stoppedHere}`, { rich: 'off' }) };
}
