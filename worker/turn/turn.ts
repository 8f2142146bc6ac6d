import type { Turn } from '../../shared/state/turn/turn.ts';
import { carryOut } from '../command/commands.ts';
import type { Env } from '../env.ts';
import { settingsFor, type TurnSettings } from '../lane/turn-settings.ts';
import { type AfterReply, type AttemptResult, failed, type Verdict } from '../lane/verdict.ts';
import { calibrationFor, countContent } from '../model/count.ts';
import { compactAfterReply } from '../recovery/compact.ts';
import { showTyping } from '../reply/progress.ts';
import { forChat, forGuests } from '../tools/toolboxes.ts';
import { answer } from './ask.ts';
import { concludeTurn } from './conclude.ts';
import type { TurnTime } from './deadline.ts';
import { deliverAndClear } from './deliver.ts';
import { decideEarly, endWithoutAnswer } from './early-end.ts';
import { failWithPieces, gather, mustStopCompaction } from './gather.ts';
import { parkTurn } from './park.ts';
import { endUnsent } from './undelivered.ts';
import { resultIfUnreachable } from './wait-for-telegram.ts';

/**
 * One attempt at a message: hold back, produce the answer, conclude, deliver, compact. A stored conclusion is only
 * delivered. Contract: throws `FencedError` if another attempt took over, or what Redis throws; all else is a verdict.
 */
export async function runTurn(begun: Turn<Env>, time: TurnTime): Promise<AttemptResult> {
  const own = withOwnNotices(begun);
  const turn = own.withEnv(envFor(own));
  const unreachable = await resultIfUnreachable(turn);
  if (unreachable) return unreachable;
  const { slot, leaving } = time;
  if (turn.conclusion) {
    slot.release();
    return deliverAndClear(turn, turn.conclusion, { isNew: false, leaving });
  }
  const { elsewhere, telegram } = turn.env;
  const stopTyping = turn.isElsewhere && elsewhere ? elsewhere.begin(turn) : showTyping(telegram, turn.destination);
  try {
    const verdict = await produceAnswer(turn, time);
    // The next steps only wait for Redis and Telegram, so another turn may use the slot.
    slot.release();
    if (verdict.kind === 'park') return await parkTurn(turn, verdict.asking);
    if (verdict.kind !== 'conclude') {
      if (time.signal.aborted) return { kind: 'hand back' };
      await notifyOfWait(turn, verdict);
      return verdict;
    }
    const concluded = await concludeTurn(turn, verdict);
    if (concluded.kind !== 'stored') return concluded;
    await stopTyping();
    const { afterReply } = verdict;
    const delivered = await deliverAndClear(turn, concluded.conclusion, {
      isNew: true,
      isFollowed: afterReply !== undefined,
      leaving,
    });
    // Without a free slot, the next message compacts.
    const isToCompact = delivered.kind === 'settle' && afterReply && (await slot.tryReacquire());
    if (isToCompact) await compactWhileNobodyWaits(turn, afterReply, time);
    return delivered;
  } finally {
    await stopTyping();
  }
}

/** Ends a message whose turn threw on every try: a stored conclusion is not delivered; any other message fails. */
export async function failTurn(
  begun: Turn<Env>,
  leaving: AbortSignal,
  reason: string,
  detail: string,
): Promise<AttemptResult> {
  const turn = withOwnNotices(begun);
  if (turn.conclusion) return endUnsent(turn, turn.conclusion, reason, detail);
  const verdict = await endWithoutAnswer(turn, failed(reason, turn.texts.unavailable, detail));
  if (verdict.kind !== 'conclude') return verdict;
  const concluded = await concludeTurn(turn, verdict);
  // Cancelled, or another attempt stored its end: the next attempt carries that out. This one threw, and counts.
  if (concluded.kind !== 'stored') return { kind: 'again' };
  return deliverAndClear(turn, concluded.conclusion, { isNew: true, leaving });
}

/** The steps until the message has an end: end early, gather, transcribe, read, ask. Each may end the attempt. */
async function produceAnswer(turn: Turn<Env>, time: TurnTime): Promise<Verdict> {
  const early = await decideEarly(turn);
  if (early.kind !== 'open') return early;
  const { message, command } = early;
  const isGroup = message.chatType !== 'private';
  if (command) return carryOut(command, { turn, isGroup, time });
  const gathered = await gather(turn, message);
  if (gathered.kind !== 'gathered') return gathered;
  const messages = [message, ...gathered.pieces.map((piece) => piece.message)] as const;
  return failWithPieces(turn, await answer(turn, messages, time), gathered.pieces);
}

/**
 * Compacts the session, unless the lane's next message waits already and fits into the session as it is. If such a
 * message arrives meanwhile, the compaction stops, and goes on after the reply to it.
 */
async function compactWhileNobodyWaits(
  turn: Turn<Env>,
  { opened, room, leftTokens }: AfterReply,
  time: TurnTime,
): Promise<void> {
  const calibration = calibrationFor(turn.env.settings.MODEL, turn.calibration);
  // The estimate of a file covers only its description: its size in tokens is unknown until the file is read.
  time.stopsCompactionFor = ({ content }) => countContent(JSON.stringify(content), calibration) <= leftTokens;
  if (await mustStopCompaction(turn, time)) return;
  await time.recovering(turn.env.settings.RECOVERY_TIMEOUT_MS, (signal) =>
    compactAfterReply(turn, opened, room, signal),
  );
}

/** The turn with the notices of a reminder; an earlier attempt may have stored them. */
function withOwnNotices(turn: Turn<Env>): Turn<Env> {
  const own = turn.env.selfEntered.get(turn.kind)?.notices(turn) ?? [];
  const missing = own.filter((notice) => !turn.notices.includes(notice));
  return missing.length === 0 ? turn : turn.with({ notices: [...missing, ...turn.notices] });
}

/** Notifies a user once that the message waits for long. If the process dies before the send, the notice is lost. */
async function notifyOfWait(turn: Turn<Env>, decided: Verdict): Promise<void> {
  // In a chat that the bot is not part of, a placeholder is shown already, and no edit may follow the answer.
  if (decided.kind !== 'later' || decided.isLongWait !== true || turn.isElsewhere) return;
  if ((await turn.write('waiting told', [])) === 'repeated') return;
  const notice = turn.env.selfEntered.get(turn.kind)?.waitingNotice(turn) ?? turn.texts.waiting;
  await turn.env.telegram.sendMessage(turn.destination, notice);
}

/**
 * The env of one turn, with the settings of its chat over those of the process. A guest of a group has the tools that
 * the operator gave to guests. In a chat that the bot is not part of, there are fewer, and no progress is shown.
 */
function envFor(turn: Turn<Env>): Env {
  const { env, chatSettings } = turn;
  const settings = settingsFor(env.settings, chatSettings, chosenModel(env.settings, turn));
  const tools = forChat(env.tools, chatSettings);
  const own = { ...env, settings, tools: turn.isOfGuest ? forGuests(tools) : tools };
  return turn.isElsewhere && env.elsewhere ? env.elsewhere.envOf({ ...env, settings, tools }) : own;
}

/** The model that a chat chose, as long as the operator allows it and the endpoint knows it. */
function chosenModel({ MODELS }: TurnSettings, turn: Turn): string | undefined {
  const { choice } = turn;
  return MODELS.find((model) => model === choice('model') && model !== turn.goneModel);
}
