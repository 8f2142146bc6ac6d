import type { Turn } from '../../shared/state/turn/turn.ts';
import { carryOut } from '../command/commands.ts';
import type { Env, ToAsk } from '../env.ts';
import { settingsFor, type TurnSettings } from '../lane/turn-settings.ts';
import { type AfterReply, type AttemptResult, failed, type Verdict } from '../lane/verdict.ts';
import { calibrationFor, countContent } from '../model/count.ts';
import { compactAfterReply } from '../recovery/compact.ts';
import { showTyping } from '../reply/progress.ts';
import { forChat, forGuests } from '../tools/toolboxes.ts';
import { answer, ask } from './ask.ts';
import { concludeTurn } from './conclude.ts';
import type { TurnTime } from './deadline.ts';
import { deliverAndClear } from './deliver.ts';
import { decideEarly, endWithoutAnswer } from './early-end.ts';
import { failWithPieces, gather, mustStopCompaction } from './gather.ts';
import { parkTurn } from './park.ts';
import { endUnsent } from './undelivered.ts';
import { resultIfUnreachable } from './wait-for-telegram.ts';

/**
 * Runs one attempt at a message: checks that the chat can be reached, produces the answer, concludes, delivers, and compacts a
 * nearly full session. With a stored conclusion, only checks and delivers. Contract: throws `FencedError` if another attempt
 * has taken over, or what Redis or the blob store throws; any other expected failure is a verdict.
 */
export async function runTurn(initialTurn: Turn<Env>, time: TurnTime): Promise<AttemptResult> {
  const turnWithNotices = withReminderNotices(initialTurn);
  const turn = turnWithNotices.withEnv(envFor(turnWithNotices));
  const unreachable = await resultIfUnreachable(turn);
  if (unreachable) return unreachable;
  const { slot, stopSignal } = time;
  if (turn.conclusion) {
    slot.release();
    return deliverAndClear(turn, turn.conclusion, { isNew: false, stopSignal });
  }
  const { elsewhere, telegram } = turn.env;
  const stopTyping = turn.isElsewhere && elsewhere ? elsewhere.begin(turn) : showTyping(telegram, turn.destination);
  try {
    const verdict = await produceAnswer(turn, time);
    // The next steps only wait for Redis and Telegram, so let another turn use the slot.
    slot.release();
    if (verdict.kind === 'park') return await parkTurn(turn, verdict.asking);
    if (verdict.kind !== 'conclude') {
      if (time.signal.aborted) return { kind: 'hand back' };
      await notifyOfWait(turn, verdict);
      return verdict;
    }
    const result = await concludeTurn(turn, verdict);
    if (result.kind !== 'stored') return result;
    await stopTyping();
    const { afterReply } = verdict;
    const delivery = await deliverAndClear(turn, result.conclusion, {
      isNew: true,
      isFollowed: afterReply !== undefined,
      stopSignal,
    });
    // Without a free slot, leave the compaction to the next message.
    const mayCompact = delivery.kind === 'settle' && afterReply && (await slot.tryReacquire());
    if (mayCompact) await compactWhileNobodyWaits(turn, afterReply, time);
    return delivery;
  } finally {
    await stopTyping();
  }
}

/** The reason code of an attempt that threw. */
export const INTERNAL_ERROR = 'internal_error';

/** Ends a message whose last permitted attempt threw. Gives up the delivery of a stored conclusion; fails any other message. */
export async function failTurn(
  initialTurn: Turn<Env>,
  stopSignal: AbortSignal,
  detail: string,
): Promise<AttemptResult> {
  const turn = withReminderNotices(initialTurn);
  if (turn.conclusion) return endUnsent(turn, turn.conclusion, INTERNAL_ERROR, detail);
  const verdict = await endWithoutAnswer(turn, failed(INTERNAL_ERROR, turn.texts.unavailable, detail));
  if (verdict.kind !== 'conclude') return verdict;
  const result = await concludeTurn(turn, verdict);
  // The message was cancelled, or has another conclusion. The next attempt carries that out. This attempt threw, so it counts.
  if (result.kind !== 'stored') return { kind: 'again' };
  return deliverAndClear(turn, result.conclusion, { isNew: true, stopSignal });
}

/** Takes the steps before the conclusion: end early, run a command, merge, transcribe, read, ask. Each may end the attempt. */
async function produceAnswer(turn: Turn<Env>, time: TurnTime): Promise<Verdict> {
  const early = await decideEarly(turn);
  if (early.kind !== 'open') return early;
  const { message, command } = early;
  const isGroup = message.chatType !== 'private';
  const toAsk: ToAsk | Verdict = command
    ? await carryOut(command, { turn, message, isGroup, time })
    : { kind: 'ask', message };
  if (toAsk.kind !== 'ask') return toAsk;
  if (toAsk.pending) return ask(turn, { message: toAsk.message, pending: toAsk.pending }, time);
  const gathering = await gather(turn, toAsk.message);
  if (gathering.kind !== 'gathered') return gathering;
  const messages = [toAsk.message, ...gathering.pieces.map((piece) => piece.message)] as const;
  return failWithPieces(turn, await answer(turn, messages, time), gathering.pieces);
}

/**
 * Compacts the session, unless the lane's next message already waits and fits into the session as it is. If such a message
 * arrives meanwhile, the compaction stops, and continues after the reply to that message.
 */
async function compactWhileNobodyWaits(turn: Turn<Env>, afterReply: AfterReply, time: TurnTime): Promise<void> {
  const { MODEL, RECOVERY_TIMEOUT_MS } = turn.env.settings;
  const calibration = calibrationFor(MODEL, turn.calibration);
  // The estimate of a file covers only its description: its size in tokens is unknown until the file is read.
  time.stopsCompactionFor = ({ content }) =>
    countContent(JSON.stringify(content), calibration) <= afterReply.leftTokens;
  if (await mustStopCompaction(turn, time)) return;
  await time.runRecovery(RECOVERY_TIMEOUT_MS, (signal) => compactAfterReply(turn, afterReply, signal));
}

/** Adds the notices of a reminder to its turn, except those that an earlier attempt has stored. */
function withReminderNotices(turn: Turn<Env>): Turn<Env> {
  const notices = turn.env.selfEntered.get(turn.kind)?.notices(turn) ?? [];
  const missing = notices.filter((notice) => !turn.notices.includes(notice));
  return missing.length === 0 ? turn : turn.with({ notices: [...missing, ...turn.notices] });
}

/** Notifies the user once if the message must wait for a long time. If the process dies before the send, the notice is lost. */
async function notifyOfWait(turn: Turn<Env>, verdict: Verdict): Promise<void> {
  // For a summons, the chat already shows a placeholder, and only the answer may replace it.
  if (verdict.kind !== 'later' || verdict.isLongWait !== true || turn.isElsewhere) return;
  if ((await turn.write('waiting told', [])) === 'repeated') return;
  const notice = turn.env.selfEntered.get(turn.kind)?.waitingNotice(turn) ?? turn.texts.waiting;
  await turn.env.telegram.sendMessage(turn.destination, notice);
}

/**
 * The env of one turn, with the settings and tools of its chat in place of those of the process. A guest of a group has the
 * tools that the operator has given to guests. A summons has fewer tools, and its turn shows no progress.
 */
function envFor(turn: Turn<Env>): Env {
  const { env, chatSettings } = turn;
  const settings = settingsFor(env.settings, chatSettings, chosenModel(env.settings, turn));
  const tools = forChat(env.tools, chatSettings);
  const localEnv = { ...env, settings, tools: turn.isOfGuest ? forGuests(tools) : tools };
  return turn.isElsewhere && env.elsewhere ? env.elsewhere.envOf({ ...env, settings, tools }) : localEnv;
}

/** The model that a chat chose, if the operator still allows the model and the endpoint still offers it. */
function chosenModel({ MODELS }: TurnSettings, turn: Turn): string | undefined {
  return MODELS.find((model) => model === turn.choice('model') && model !== turn.goneModel);
}
