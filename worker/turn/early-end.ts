import { commandIn, type InboundMessage } from '../../shared/flow/message.ts';
import { BY_OPERATOR, type Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { isPermitted, meantCommand } from '../../shared/telegram/commands.ts';
import type { Env } from '../env.ts';
import type { TurnSettings } from '../lane/turn-settings.ts';
import { cancelled, conclude, type Ending, failed, refused, type Verdict } from '../lane/verdict.ts';
import { failAfterSilence } from '../recovery/fail.ts';
import { SILENCES_MAX } from '../recovery/policy.ts';
import { healMarkdown } from '../reply/format/heal.ts';
import { planReply } from '../reply/plan.ts';
import { withPartialAnswer } from './conclude.ts';
import { failWithPieces, mergedConclusion } from './gather.ts';

/** How long a message that a newer version wrote waits for a worker of that version. A deployment takes less time. */
const NEWER_MS_MAX = 600_000;
const NEWER_RETRY_MS = 2_000;

/** The message to answer, with its command if any; or the verdict that ends the attempt. */
type EarlyDecision = { kind: 'open'; message: InboundMessage; command: ReturnType<typeof commandIn> } | Verdict;

/**
 * Ends a message before any work on it, e.g. if the message is unreadable, merged or cancelled, has no time or attempts left,
 * or contains a command that its sender may not use. Otherwise returns the message. Contract: throws `FencedError`, or what
 * Redis throws.
 */
export async function decideEarly(turn: Turn<Env>): Promise<EarlyDecision> {
  if (!turn.message.ok) return waitOrFailUnreadable(turn, turn.message);
  const message = turn.message.value;
  const conclusion = mergedConclusion(turn) ?? cancelledConclusion(turn);
  if (conclusion) return conclude(conclusion);
  const ending = endIfUsedUp(turn, turn.env.settings);
  if (ending) return endWithoutAnswer(turn, ending);
  // Only a refused summons enters a full lane, with this mark. Other messages with the mark are from before 0.4: answer them.
  if (turn.isRefused && turn.isElsewhere) return conclude(refused('lane_full', turn.texts.laneFull(1)));
  const command = commandIn(message);
  const isTypedText = message.content.kind === 'text' && message.forwardedFrom === undefined && !turn.isElsewhere;
  const suggestion = isTypedText ? meantCommand(message.content.text) : undefined;
  if (suggestion) return conclude(suggestCommand(turn, suggestion));
  if (command && !isPermitted(command, message.from))
    return conclude(refused('not_permitted', turn.texts.notPermitted));
  return { kind: 'open', message, command };
}

/** Ends a message without an answer: adds its partial answer, if any. If it failed, also fails the messages merged into it. */
export async function endWithoutAnswer(turn: Turn<Env>, ending: Ending): Promise<Verdict> {
  return failWithPieces(turn, await withPartialAnswer(turn, ending));
}

/** Suggests the command that a message nearly matches, instead of letting the model guess. */
function suggestCommand({ texts }: Turn, name: string): Conclusion {
  const buttons = [[{ text: `/${name}`, command: `/${name}` }]];
  return { outcome: 'command', reason: 'suggested', parts: [texts.didYouMean(name)], buttons };
}

/** Lets a message of a newer version wait for a worker that can read it. Fails any other unreadable message with a notice. */
function waitOrFailUnreadable(turn: Turn, { isNewer, problem }: Extract<Turn['message'], { ok: false }>): Verdict {
  if (isNewer && turn.ageMs() < NEWER_MS_MAX)
    return { kind: 'later', delayMs: NEWER_RETRY_MS, reason: 'newer_version', isUncounted: true };
  return failed('undecodable', turn.texts.unreadable, problem);
}

/** The ending of a message whose model calls fell silent too often, or whose time or attempts are used up; else `undefined`. */
function endIfUsedUp(turn: Turn, { TURN_MAX_MS, MAX_ATTEMPTS }: TurnSettings): Ending | undefined {
  const { unavailable } = turn.texts;
  if (turn.silences >= SILENCES_MAX) return failAfterSilence(turn);
  if (turn.spentMs >= TURN_MAX_MS) return failed('turn_too_long', unavailable, 'its turn took too long');
  if (turn.attempts <= MAX_ATTEMPTS) return undefined;
  return failed('attempts_used_up', unavailable, 'each attempt was cut short');
}

/** The conclusion of a message that a user or an operator cancelled, with the partial answer; else `undefined`. */
function cancelledConclusion(turn: Turn): Conclusion | undefined {
  const { cancelledBy: command, partialAnswer } = turn;
  if (command === undefined) return undefined;
  // A stop by an operator has no reply in the chat, and for a summons nobody sees the reply to `/stop`, so send a notice.
  const hasCommandReply = command !== BY_OPERATOR && !turn.isElsewhere;
  if (partialAnswer.text === '') return cancelled(command, hasCommandReply ? [] : [turn.texts.stoppedByOperator]);
  const text = `${healMarkdown(partialAnswer.text)}\n\n${turn.texts.stoppedHere}`;
  return { ...cancelled(command), ...planReply([], text, { rich: 'off' }) };
}
