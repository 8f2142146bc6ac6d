import { commandIn, type InboundMessage } from '../../shared/flow/message.ts';
import { BY_OPERATOR, type Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { isPermitted, meantCommand } from '../../shared/telegram/commands.ts';
import { BEGUN_ANEW } from '../command/new.ts';
import type { Env } from '../env.ts';
import type { TurnSettings } from '../lane/turn-settings.ts';
import { cancelled, conclude, type Ending, failed, refused, type Verdict } from '../lane/verdict.ts';
import { fallenSilent } from '../recovery/fail.ts';
import { SILENCES_MAX } from '../recovery/policy.ts';
import { healed } from '../reply/format/heal.ts';
import { planned } from '../reply/plan.ts';
import { withWords } from './conclude.ts';
import { failTogether, mergedConclusion } from './gather.ts';

/** A deploy takes no longer. */
const NEWER_MS_MAX = 600_000;
const NEWER_RETRY_MS = 2_000;

/** The message that is to be answered, with the command that it gives, or what becomes of it instead. */
type FirstLook = { kind: 'open'; message: InboundMessage; command: ReturnType<typeof commandIn> } | Verdict;

/**
 * The message, unless its end is decided before anything is done for it: by another message, by an operator, at its
 * admission, by its attempts, or by who gave the command. Contract: throws `FencedError`, or what Redis throws.
 */
export async function endedEarly(turn: Turn<Env>): Promise<FirstLook> {
  const { env } = turn;
  if (!turn.message.ok) return unreadable(turn, turn.message);
  const message = turn.message.value;
  const before = mergedConclusion(turn) ?? stopped(turn);
  if (before) return conclude(before);
  const ended = usedUp(turn, env.settings);
  if (ended) return endedWithout(turn, ended);
  // A version before 0.4 marked refused messages of all chats and left them in their lane: those are answered.
  if (turn.isRefused && turn.isElsewhere) return conclude(refused('lane_full', turn.texts.laneFull(1)));
  const command = commandIn(message);
  // The words behind a `/new`, and the file whose caption they are, are what its new conversation begins with.
  if (command && turn.hasDone(BEGUN_ANEW))
    return {
      kind: 'open',
      message: { ...message, content: { ...message.content, text: command.words } },
      command: undefined,
    };
  const isOwn = message.content.kind === 'text' && message.forwardedFrom === undefined && !turn.isElsewhere;
  const meant = isOwn ? meantCommand(message.content.text) : undefined;
  if (meant) return conclude(suggested(turn, meant));
  if (command && !isPermitted(command, message.from))
    return conclude(refused('not_permitted', turn.texts.notPermitted));
  return { kind: 'open', message, command };
}

/** The end of a message that gets no answer, with the words so far; its pieces end with it. */
export async function endedWithout(turn: Turn<Env>, ended: Ending): Promise<Verdict> {
  return failTogether(turn, await withWords(turn, ended));
}

/** The end of a message that nearly was a command: the model would only guess what it means. */
function suggested({ texts }: Turn, meant: string): Conclusion {
  const buttons = [[{ text: `/${meant}`, command: `/${meant}` }]];
  return { outcome: 'command', reason: 'suggested', parts: [texts.didYouMean(meant)], buttons };
}

/** A newer worker takes over what this one cannot read; if none does, the user is notified. */
function unreadable(turn: Turn, { isNewer, problem }: Extract<Turn['message'], { ok: false }>): Verdict {
  if (isNewer && turn.ageMs() < NEWER_MS_MAX)
    return { kind: 'later', delayMs: NEWER_RETRY_MS, reason: 'newer_version', isFree: true };
  return failed('undecodable', turn.texts.unreadable, problem);
}

/** The end of a message for which no more calls are made: they fell silent, or its time or its attempts are used up. */
function usedUp(turn: Turn, { TURN_MAX_MS, MAX_ATTEMPTS }: TurnSettings): Ending | undefined {
  const { unavailable } = turn.texts;
  if (turn.silences >= SILENCES_MAX) return fallenSilent(turn);
  if (turn.spentMs >= TURN_MAX_MS) return failed('turn_too_long', unavailable, 'its turn took too long');
  if (turn.attempts <= MAX_ATTEMPTS) return undefined;
  return failed('attempts_used_up', unavailable, 'each attempt was cut short');
}

/** The end of a message that its user or an operator cancelled, with what the model had said until then. */
function stopped(turn: Turn): Conclusion | undefined {
  const { cancelledBy: command, said } = turn;
  if (command === undefined) return undefined;
  // No command's reply is seen where the bot was called.
  const isTold = command !== BY_OPERATOR && !turn.isElsewhere;
  if (said.text === '') return cancelled(command, isTold ? [] : [turn.texts.stoppedByOperator]);
  const text = `${healed(said.text)}\n\n${turn.texts.stoppedHere}`;
  return { ...cancelled(command), ...planned([], text, { rich: 'off' }) };
}
