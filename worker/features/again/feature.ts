import { compareStreamIds } from '../../../shared/redis/stream.ts';
import { fieldOfLetter } from '../../../shared/state/lane/dead-letters.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { messageCode } from '../../ask/message-header.ts';
import { LOAD_BYTES_PER_TOKEN } from '../../ask/pending.ts';
import { type CommandHandler, replied } from '../../command/command.ts';
import { roomIn } from '../../command/status.ts';
import type { Env } from '../../env.ts';
import type { Feature } from '../../feature.ts';
import { withCode } from '../../session/header-code.ts';
import { withoutParts } from '../../session/overlay.ts';
import { type LogRecord, newStamp, startsTurn, type UserRecord } from '../../session/record.ts';

/** A message in the log, with its entry. */
type LoggedMessage = UserRecord & { entry: NonNullable<Turn['retryOf']> };

/**
 * `/retry`: tries a message again: the one that a button names, or else the newest one. A failed message is replayed at the end
 * of the lane. An answered message is asked anew by this turn, if the conversation has not gone on since; the log keeps both
 * answers. Stores the choice first, so that an attempt after a crash tries the same message again.
 */
const retry: CommandHandler = async ({ turn, message, argument }) => {
  const { env, texts } = turn;
  const { limitTokens } = await roomIn(turn);
  const { records } = (await env.sessions.load(turn, limitTokens * LOAD_BYTES_PER_TOKEN)).window;
  if (turn.retryOf !== undefined) {
    // A recovery may have left this turn's own copy of the message only.
    const earlier = newestMessage(records, [turn.entry, turn.retryOf]);
    if (earlier === undefined) return replied('retry', texts.nothingToRetry);
    return { kind: 'ask', message, pending: recordToRetry(turn, withoutParts(earlier, records)) };
  }
  // If this turn is the replay of a `/retry` that failed, it goes on with the message of that one.
  const own = turn.replayOf && newestMessage(records, [turn.replayOf]);
  const newest = newestMessage(records);
  const letter = own ? undefined : (turn.merge.retries ?? (await letterToReplay(turn, argument, newest)));
  if (letter !== undefined) {
    await turn.write('', [turn.merge.retry(letter)]);
    await env.deadLetters.replay(letter);
    return replied('retry', texts.retrying);
  }
  const chosen = own ?? (newest && mayRetry(newest, records, argument) ? newest : undefined);
  if (chosen === undefined) return replied('retry', texts.nothingToRetry);
  await turn.write('', [turn.setRetryOf(chosen.entry)]);
  return { kind: 'hand back', reason: 'asked_again' };
};

/** The dead letter to replay: that of the named message, or else the chat's newest, unless it is older than `newest`. */
async function letterToReplay({ env, keys, chat }: Turn<Env>, argument: string, newest?: LoggedMessage) {
  const letter = await env.deadLetters.newest(chat, argument === '' ? undefined : argument);
  if (letter === undefined || argument !== '' || newest === undefined) return letter;
  const failed = await fieldOfLetter(env.redis, keys, letter, 'entry');
  return failed !== undefined && compareStreamIds(failed, newest.entry) >= 0 ? letter : undefined;
}

/**
 * Whether the newest message of the conversation may be asked anew. Not if `argument` names another message; not without an
 * answer, because a replay of the message may already wait in the lane; and not a guest's message, which must not get the tools
 * of the person who wants it again.
 */
function mayRetry(newest: LoggedMessage, records: readonly LogRecord[], argument: string): boolean {
  if (argument !== '' && argument !== newest.entry) return false;
  const answers = records.filter((record) => record.t === 'assistant' && record.entry === newest.entry);
  return answers.length > 0 && !answers.some((record) => 'isForGuest' in record);
}

/** An earlier message as a new record, with the same content, author and time. */
function recordToRetry({ env, entry }: Turn<Env>, earlier: UserRecord): UserRecord {
  // After a recovery, the earlier message may be this turn's own record.
  const retryOf = earlier.entry === entry ? earlier.retryOf : earlier.entry;
  const copy = { ...earlier, ...newStamp(), entry, ...(retryOf && { retryOf }) };
  return withCode(copy, messageCode(env.settings.TELEGRAM_BOT_TOKEN, entry));
}

function newestMessage(records: readonly LogRecord[], entries?: readonly string[]): LoggedMessage | undefined {
  return records.findLast((record): record is LoggedMessage => {
    if (record.t !== 'user' || record.entry === undefined || !startsTurn(record)) return false;
    return entries === undefined || entries.includes(record.entry);
  });
}

/** `/retry`, and its button under a message that failed or whose answer was cut. */
export const againFeature: Feature = {
  name: 'again',
  commands: { retry },
  async beforeConclude(turn, conclusion, { isCut = false }) {
    const hasFailed = conclusion.outcome === 'failed' && conclusion.parts.length > 0 && conclusion.into === undefined;
    const canRetry = hasFailed || (isCut && !turn.isOfGuest);
    if (turn.isElsewhere || !canRetry) return conclusion;
    const text = hasFailed ? turn.texts.retryButton : turn.texts.againButton;
    return { ...conclusion, buttons: [...(conclusion.buttons ?? []), [{ text, command: `/retry ${turn.entry}` }]] };
  },
};
