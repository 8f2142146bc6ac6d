import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { carryOut } from '../command/commands.ts';
import type { Env } from '../env.ts';
import { settingsFor, type TurnSettings } from '../lane/turn-settings.ts';
import { type AfterReply, type Delivered, failed, type Verdict } from '../lane/verdict.ts';
import { calibrationFor, countContent } from '../model/count.ts';
import { compactAfterReply } from '../recovery/compact.ts';
import { showTyping } from '../reply/progress.ts';
import { forChat, forGuests } from '../tools/toolboxes.ts';
import { answer } from './ask.ts';
import { concludeTurn } from './conclude.ts';
import type { TurnTime } from './deadline.ts';
import { deliverAndClear, destinationOf } from './deliver.ts';
import { endedEarly, endedWithout } from './early-end.ts';
import { failTogether, gather, isYielding } from './gather.ts';
import { parkTurn } from './park.ts';
import { neverDelivered } from './undelivered.ts';
import { heldBack } from './wait-for-telegram.ts';

/**
 * One attempt at a message, as its steps in order: hold back, decide, conclude, deliver, compact. What an earlier attempt
 * concluded is only delivered. Contract: throws `FencedError` when another attempt took over, or what Redis throws;
 * every other failure is a verdict.
 */
export async function runTurn(begun: Turn<Env>, time: TurnTime): Promise<Delivered> {
  const own = withOwnNotices(begun);
  const turn = own.withEnv(envFor(own));
  const to = destinationOf(turn);
  const held = await heldBack(turn);
  if (held) return held;
  const { slot, leaving } = time;
  if (turn.conclusion) {
    slot.rest();
    return deliverAndClear(turn, turn.conclusion, to, { isNew: false, leaving });
  }
  const { elsewhere, telegram } = turn.env;
  const stopTyping = turn.isElsewhere && elsewhere ? elsewhere.begin(turn) : showTyping(telegram, to);
  try {
    const verdict = await decide(turn, to, time);
    // The next steps only wait for Redis and Telegram, so another turn may use the slot.
    slot.rest();
    if (verdict.kind === 'park') return await parkTurn(turn, verdict.asking, to);
    if (verdict.kind !== 'conclude') {
      if (time.signal.aborted) return { kind: 'hand back' };
      await tellWaiting(turn, to, verdict);
      return verdict;
    }
    const concluded = await concludeTurn(turn, verdict);
    if (concluded.kind !== 'stored') return concluded;
    await stopTyping();
    const { afterReply } = verdict;
    const delivered = await deliverAndClear(turn, concluded.conclusion, to, {
      isNew: true,
      isFollowed: afterReply !== undefined,
      leaving,
    });
    // Where no slot is free, the next message compacts.
    const isToCompact = delivered.kind === 'settle' && afterReply && (await slot.resume());
    if (isToCompact) await compactWhileNobodyWaits(turn, afterReply, time);
    return delivered;
  } finally {
    await stopTyping();
  }
}

/**
 * Ends a message whose turn threw on every try. If it has a conclusion, it could not be delivered; otherwise it failed,
 * and its user is notified where that does not throw.
 */
export async function failTurn(
  begun: Turn<Env>,
  leaving: AbortSignal,
  reason: string,
  detail: string,
): Promise<Delivered> {
  const turn = withOwnNotices(begun);
  if (turn.conclusion) return neverDelivered(turn, turn.conclusion, reason, detail);
  const verdict = await endedWithout(turn, failed(reason, turn.texts.unavailable, detail));
  if (verdict.kind !== 'conclude') return verdict;
  const concluded = await concludeTurn(turn, verdict);
  // Whatever else it ends as, it is not tried here again: that threw.
  if (concluded.kind !== 'stored') return { kind: 'again' };
  return deliverAndClear(turn, concluded.conclusion, destinationOf(turn), { isNew: true, leaving });
}

/** The steps until the message has an end: see who is first, gather, hear, read, ask. Each may end the attempt here. */
async function decide(turn: Turn<Env>, to: Destination, time: TurnTime): Promise<Verdict> {
  const seen = await endedEarly(turn);
  if (seen.kind !== 'open') return seen;
  const { message, command } = seen;
  const isGroup = message.chatType !== 'private';
  if (command) return carryOut(command, { turn, isGroup, time });
  const gathered = await gather(turn, message);
  if (gathered.kind !== 'gathered') return gathered;
  const messages = [message, ...gathered.pieces.map((piece) => piece.message)] as const;
  return failTogether(turn, await answer(turn, messages, to, time), gathered.pieces);
}

/**
 * Compacts the session, unless the lane's next message already waits and fits into the session as it is. If such a message
 * arrives during the compaction, the compaction stops, and goes on after the reply to that message.
 */
async function compactWhileNobodyWaits(
  turn: Turn<Env>,
  { opened, room, leftTokens }: AfterReply,
  time: TurnTime,
): Promise<void> {
  const calibration = calibrationFor(turn.env.settings.MODEL, turn.calibration);
  // The estimate of a file covers only its description: its size in tokens is unknown until the file is read.
  time.yieldsTo = ({ content }) => countContent(JSON.stringify(content), calibration) <= leftTokens;
  if (await isYielding(turn, time)) return;
  await time.recovering(turn.env.settings.RECOVERY_TIMEOUT_MS, (signal) =>
    compactAfterReply(turn, opened, room, signal),
  );
}

/** An attempt with the notices of a message that the gateway entered itself; an earlier attempt may have stored them. */
function withOwnNotices(turn: Turn<Env>): Turn<Env> {
  const own = turn.env.selfEntered.get(turn.kind)?.notices(turn) ?? [];
  const missing = own.filter((notice) => !turn.notices.includes(notice));
  return missing.length === 0 ? turn : turn.with({ notices: [...missing, ...turn.notices] });
}

/**
 * A user whose message waits for long is notified once. If the process is killed before sending, the notice is lost:
 * the answer will come.
 */
async function tellWaiting(turn: Turn<Env>, to: Destination, decided: Verdict): Promise<void> {
  // Where the bot was called, something stands already, and no edit may come behind the one that answers.
  if (decided.kind !== 'later' || decided.isLongWait !== true || turn.isElsewhere) return;
  if ((await turn.write('waiting told', [])) === 'repeated') return;
  const notice = turn.env.selfEntered.get(turn.kind)?.waitingNotice(turn) ?? turn.texts.waiting;
  await turn.env.telegram.sendMessage(to, notice);
}

/**
 * The env of one turn: the operator's settings for the chat and the chat's own choices lie over those of the process. A guest
 * of a group has the tools that the operator gave to guests. In a chat that the bot is not part of, there are fewer still,
 * and nothing is shown before the answer.
 */
function envFor(turn: Turn<Env>): Env {
  const { env, chatSettings } = turn;
  const settings = settingsFor(env.settings, chatSettings, chosenModel(env.settings, turn));
  const tools = forChat(env.tools, chatSettings);
  const own = { ...env, settings, tools: turn.isOfGuest ? forGuests(tools) : tools };
  return turn.isElsewhere && env.elsewhere ? env.elsewhere.envOf({ ...env, settings, tools }) : own;
}

/** A chat may use another model than its default, as long as the operator allows that one and the endpoint knows it. */
function chosenModel({ MODELS }: TurnSettings, turn: Turn): string | undefined {
  const { choice } = turn;
  return MODELS.find((model) => model === choice('model') && model !== turn.goneModel);
}
