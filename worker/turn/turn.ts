import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { carryOut } from '../command/commands.ts';
import { type AfterReply, type Delivered, failed, type Verdict } from '../lane/verdict.ts';
import { calibrationFor, countContent } from '../model/count.ts';
import { compactAfterReply } from '../recovery/compact.ts';
import { showTyping } from '../reply/typing.ts';
import { answer } from './ask.ts';
import { concludeTurn } from './conclude.ts';
import type { TurnTime } from './deadline.ts';
import { deliverAndClear, destinationOf, heldBack } from './deliver.ts';
import { endedEarly, endedWithout } from './early-end.ts';
import { failTogether, gather, isYielding } from './gather.ts';
import { parkTurn } from './park.ts';
import { portsFor, type TurnPorts } from './ports.ts';
import { waitingNotice, withLateness } from './reminder.ts';
import { beginThere } from './summons.ts';
import { neverDelivered } from './undelivered.ts';

/**
 * One attempt at a message, as its steps in order: hold back, decide, conclude, deliver, compact. What an earlier attempt
 * concluded is only delivered. Contract: throws `FencedError` when another attempt took over, or what Redis throws;
 * every other failure is a verdict.
 */
export async function runTurn(all: TurnPorts, begun: Turn, time: TurnTime): Promise<Delivered> {
  const turn = withLateness(begun, all.ask.settings);
  const ports = portsFor(all, turn);
  const to = destinationOf(turn);
  const held = await heldBack(ports, turn);
  if (held) return held;
  const { slot, leaving } = time;
  if (turn.conclusion) {
    slot.rest();
    return deliverAndClear(ports, turn, turn.conclusion, to, { isNew: false, leaving });
  }
  const stopTyping = turn.summons
    ? beginThere({ ...ports, observability: ports.ask.observability }, turn)
    : showTyping(ports.telegram, to);
  try {
    const verdict = await decide(ports, turn, to, time);
    // The next steps only wait for Redis and Telegram, so another turn may use the slot.
    slot.rest();
    if (verdict.kind === 'park') return await parkTurn(ports, turn, verdict.asking, to);
    if (verdict.kind !== 'conclude') {
      if (time.signal.aborted) return { kind: 'hand back' };
      await tellWaiting(ports, turn, to, verdict);
      return verdict;
    }
    const concluded = await concludeTurn(ports, turn, verdict);
    if (concluded.kind !== 'stored') return concluded;
    await stopTyping();
    const { afterReply } = verdict;
    const delivered = await deliverAndClear(ports, turn, concluded.conclusion, to, {
      isNew: true,
      isFollowed: afterReply !== undefined,
      leaving,
    });
    // Where no slot is free, the next message compacts.
    const isToCompact = delivered.kind === 'settle' && afterReply && (await slot.resume());
    if (isToCompact) await compactWhileNobodyWaits(ports, turn, afterReply, time);
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
  ports: TurnPorts,
  begun: Turn,
  leaving: AbortSignal,
  reason: string,
  detail: string,
): Promise<Delivered> {
  const turn = withLateness(begun, ports.ask.settings);
  if (turn.conclusion) return neverDelivered(turn, turn.conclusion, reason, detail);
  const verdict = await endedWithout(ports, turn, failed(reason, turn.texts.unavailable, detail));
  if (verdict.kind !== 'conclude') return verdict;
  const concluded = await concludeTurn(ports, turn, verdict);
  // Whatever else it ends as, it is not tried here again: that threw.
  if (concluded.kind !== 'stored') return { kind: 'again' };
  return deliverAndClear(ports, turn, concluded.conclusion, destinationOf(turn), { isNew: true, leaving });
}

/** The steps until the message has an end: see who is first, gather, hear, read, ask. Each may end the attempt here. */
async function decide(ports: TurnPorts, turn: Turn, to: Destination, time: TurnTime): Promise<Verdict> {
  const seen = await endedEarly(ports, turn);
  if (seen.kind !== 'open') return seen;
  const { message, command } = seen;
  const isGroup = message.chatType !== 'private';
  if (command) return carryOut({ ...ports.commands, ask: ports.ask }, command, { turn, isGroup, time });
  const gathered = await gather(ports, turn, message);
  if (gathered.kind !== 'gathered') return gathered;
  const messages = [message, ...gathered.pieces.map((piece) => piece.message)] as const;
  return failTogether(turn, await answer(ports, turn, messages, to, time), gathered.pieces);
}

/**
 * Compacts the session, unless the lane's next message already waits and fits into the session as it is. If such a message
 * arrives during the compaction, the compaction stops, and goes on after the reply to that message.
 */
async function compactWhileNobodyWaits(
  ports: TurnPorts,
  turn: Turn,
  { opened, room, leftTokens }: AfterReply,
  time: TurnTime,
): Promise<void> {
  const calibration = calibrationFor(ports.ask.settings.modelName, turn.calibration);
  // The estimate of a file covers only its description: its size in tokens is unknown until the file is read.
  time.yieldsTo = ({ content }) => countContent(JSON.stringify(content), calibration) <= leftTokens;
  if (await isYielding(ports, turn, time)) return;
  await time.recovering(ports.ask.settings.recoveryTimeoutMs, (signal) =>
    compactAfterReply(ports.ask, turn, opened, room, signal),
  );
}

/**
 * A user whose message waits for long is notified once. If the process is killed before sending, the notice is lost:
 * the answer will come.
 */
async function tellWaiting(ports: TurnPorts, turn: Turn, to: Destination, decided: Verdict): Promise<void> {
  // Where the bot was called, something stands already, and no edit may come behind the one that answers.
  if (decided.kind !== 'later' || decided.isLongWait !== true || turn.summons) return;
  if ((await turn.write('waiting told', [])) === 'repeated') return;
  await ports.telegram.sendMessage(to, waitingNotice(turn));
}
