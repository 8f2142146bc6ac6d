import { commandIn } from '../../shared/flow/message.ts';
import type { BreakerView } from '../../shared/telegram/breaker.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import { isPermitted } from '../../shared/telegram/commands.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { undeliveredAlert } from '../alerts/causes/telegram.ts';
import { outOfTime } from '../ask/failures.ts';
import type { TurnTime } from '../ask/time.ts';
import type { CommandPorts } from '../command/command.ts';
import { carryOut } from '../command/commands.ts';
import { type Attempt, ageMs, BY_OPERATOR, type Conclusion, isOfGuest } from '../lane/attempt.ts';
import type { Lane } from '../lane/lane.ts';
import type { Settings } from '../lane/settings.ts';
import { cancelled, conclude, type Delivered, type Ending, failed, refused, type Verdict } from '../lane/verdict.ts';
import type { Transcriber } from '../media/transcriber.ts';
import { compactAfterReply } from '../recovery/stage-1.ts';
import { healed } from '../reply/format/heal.ts';
import { unsupportedKind } from '../reply/notices.ts';
import { planned } from '../reply/plan.ts';
import type { ProgressViews } from '../reply/progress.ts';
import { showTyping } from '../reply/typing.ts';
import { onlyReading } from '../tools/toolboxes.ts';
import { answer } from './ask.ts';
import { concludeTurn, insteadOfNothing, waitingNotice, withLateness } from './conclude.ts';
import { deliverConclusion, destinationOf, heldBack, notTaken, undelivered } from './deliver.ts';
import { failTogether, gather, mergedConclusion } from './gather.ts';
import { soundIn } from './hear.ts';

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

/** A deploy takes no longer. */
const NEWER_MS_MAX = 600_000;
const NEWER_RETRY_MS = 2_000;

/**
 * One attempt at a message, as its steps in order: hold back, decide, conclude, deliver, compact. What an earlier attempt
 * concluded is only delivered. Contract: throws `FencedError` when another attempt took over, or what Redis throws;
 * every other failure is a verdict.
 */
export async function runTurn(all: TurnPorts, begun: Attempt, time: TurnTime): Promise<Delivered> {
  const attempt = withLateness(begun, all.ask.settings);
  const ports = portsFor(all, attempt);
  const to = destinationOf(attempt);
  const held = await heldBack(ports, attempt);
  if (held) return held;
  if (attempt.conclusion) return deliverAndClear(ports, attempt, attempt.conclusion, to, { isNew: false });
  const stopTyping = showTyping(ports.telegram, to);
  try {
    const verdict = await decide(ports, attempt, to, time);
    if (verdict.kind !== 'conclude') {
      if (time.signal.aborted) return { kind: 'hand back' };
      await tellWaiting(ports, attempt, to, verdict);
      return verdict;
    }
    const concluded = await concludeTurn(ports, attempt, verdict);
    if (concluded.kind !== 'stored') return concluded;
    await stopTyping();
    const { afterReply } = verdict;
    const delivered = await deliverAndClear(ports, attempt, concluded.conclusion, to, {
      isNew: true,
      isFollowed: afterReply !== undefined,
    });
    if (delivered.kind === 'settle' && afterReply) await compactWhileNobodyWaits(ports, attempt, afterReply, time);
    return delivered;
  } finally {
    await stopTyping();
  }
}

/**
 * Ends a message whose turn threw on every try. If it has a conclusion, it could not be delivered; otherwise it failed,
 * and its user is notified where that does not throw.
 */
export async function failTurn(ports: TurnPorts, begun: Attempt, reason: string, detail: string): Promise<Delivered> {
  const attempt = withLateness(begun, ports.ask.settings);
  if (attempt.conclusion)
    return undelivered(attempt, attempt.conclusion, {
      outcome: 'failed',
      reason,
      alert: undeliveredAlert(attempt, `${reason}: ${detail}`),
    });
  const ended = failed(reason, attempt.texts.unavailable, detail);
  const verdict = failTogether(attempt, await insteadOfNothing(ports.ask, attempt, ended));
  if (verdict.kind !== 'conclude') return verdict;
  const concluded = await concludeTurn(ports, attempt, verdict);
  // Whatever else it ends as, it is not tried here again: that threw.
  if (concluded.kind !== 'stored') return { kind: 'again' };
  return deliverAndClear(ports, attempt, concluded.conclusion, destinationOf(attempt), { isNew: true });
}

/** The steps until the message has an end: see who is first, gather, hear, read, ask. Each may end the attempt here. */
async function decide(ports: TurnPorts, attempt: Attempt, to: Destination, time: TurnTime): Promise<Verdict> {
  if (!attempt.message.ok) return unreadable(attempt, attempt.message);
  const message = attempt.message.value;
  const before = concludedBefore(attempt);
  if (before) return conclude(before);
  if (attempt.turn.isRefused && message.content.kind !== 'reminder') return notTaken(ports, attempt);
  const ended = outOfTime(attempt, ports.ask.settings) ?? outOfAttempts(attempt, ports.ask.settings);
  if (ended) return failTogether(attempt, await insteadOfNothing(ports.ask, attempt, ended));
  const command = commandIn(message);
  if (command && !isPermitted(command, message.from))
    return conclude(refused('not_permitted', attempt.texts.notPermitted));
  const isGroup = message.chatType !== 'private';
  if (command) return carryOut({ ...ports.commands, ask: ports.ask }, command, { attempt, isGroup, time });
  const { commentWaitMs } = ports.ask.settings;
  const gathered = await gather({ lane: ports.lane, commentWaitMs }, attempt, message, time.signal);
  if (gathered.kind !== 'gathered') return gathered;
  const messages = [message, ...gathered.pieces.map((piece) => piece.message)] as const;
  const canHear = ports.transcriber !== undefined && soundIn(message) !== undefined;
  if (message.content.kind === 'unsupported' && messages.length === 1 && !canHear)
    return conclude(refused('unsupported_kind', unsupportedKind(attempt.texts, message.content.what)));
  return failTogether(attempt, await answer(ports, attempt, messages, to, time), gathered.pieces);
}

/** The chat's next message cannot run in between. */
async function compactWhileNobodyWaits(
  ports: TurnPorts,
  attempt: Attempt,
  { opened, room }: NonNullable<Ending['afterReply']>,
  time: TurnTime,
): Promise<void> {
  await time.recovering(ports.ask.settings.recoveryTimeoutMs, (signal, deadline) =>
    compactAfterReply(ports.ask, attempt, opened, room, { signal, deadline }),
  );
}

/** Delivers a conclusion, and takes away what showed that it was coming, or the button that asked for it. */
async function deliverAndClear(
  ports: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: Destination,
  { isNew, isFollowed = false }: { isNew: boolean; isFollowed?: boolean },
): Promise<Delivered> {
  const isLeft = ports.progress.isLeft(attempt);
  const verdict = await deliverConclusion(ports, attempt, conclusion, to, { isNew, isFollowed: isFollowed || isLeft });
  if (verdict.kind !== 'settle') return verdict;
  if (isLeft) await ports.progress.clear(attempt, to);
  // Nothing depends on this call. A press that was refused has done nothing: the button is still for the others.
  if (attempt.message.ok && attempt.message.value.pressed !== undefined && conclusion.outcome !== 'refused')
    void ports.telegram.removeButtons(to, attempt.message.value.pressed);
  return verdict;
}

/** The ports as this chat and sender may use them: a guest of a group has the tools that only read. */
function portsFor(ports: TurnPorts, attempt: Attempt): TurnPorts {
  const { tools } = ports.ask;
  const settings = withChosenModel(ports.ask.settings, attempt);
  return { ...ports, ask: { ...ports.ask, settings, tools: isOfGuest(attempt) ? onlyReading(tools) : tools } };
}

/** A chat may use another model than the default, as long as the operator allows that one and the endpoint knows it. */
function withChosenModel(settings: Settings, attempt: Attempt): Settings {
  const modelName = attempt.choice('model') ?? settings.modelName;
  if (modelName === settings.modelName || !settings.models.includes(modelName)) return settings;
  if (attempt.turn.goneModel === modelName) return settings;
  return { ...settings, modelName, statedWindowTokens: undefined };
}

/**
 * A user whose message waits for long is notified once. If the process is killed before sending, the notice is lost:
 * the answer will come.
 */
async function tellWaiting(ports: TurnPorts, attempt: Attempt, to: Destination, decided: Verdict): Promise<void> {
  if (decided.kind !== 'later' || decided.isLongWait !== true) return;
  if ((await attempt.write('waiting told', [])) === 'repeated') return;
  await ports.telegram.sendMessage(to, waitingNotice(attempt));
}

/** A newer worker takes over what this one cannot read; if none does, the user is notified. */
function unreadable(attempt: Attempt, { isNewer, problem }: Extract<Attempt['message'], { ok: false }>): Verdict {
  if (isNewer && ageMs(attempt) < NEWER_MS_MAX)
    return { kind: 'later', delayMs: NEWER_RETRY_MS, reason: 'newer_version', isFree: true };
  return failed('undecodable', attempt.texts.unreadable, problem);
}

function outOfAttempts(attempt: Attempt, { maxAttempts }: Pick<Settings, 'maxAttempts'>): Ending | undefined {
  if (attempt.attempts <= maxAttempts) return undefined;
  return failed('attempts_used_up', attempt.texts.unavailable, 'each attempt was cut short');
}

/** What another message decided about this one while it waited. */
function concludedBefore(attempt: Attempt): Conclusion | undefined {
  const { cancelledBy } = attempt.turn;
  return mergedConclusion(attempt) ?? (cancelledBy === undefined ? undefined : stopped(attempt, cancelledBy));
}

/** A message that its user cancelled. What the model had said until then is kept, and says that it is not all. */
function stopped(attempt: Attempt, command: string): Conclusion {
  const { text: said } = attempt.turn.said;
  if (said === '') return cancelled(command, command === BY_OPERATOR ? [attempt.texts.stoppedByOperator] : []);
  return { ...cancelled(command), ...planned([], `${healed(said)}\n\n${attempt.texts.stoppedHere}`, { rich: 'off' }) };
}
