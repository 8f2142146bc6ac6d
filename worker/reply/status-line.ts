import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Limits } from '../limits.ts';

export type StatusLines = ReturnType<typeof createStatusLines>;

type LineTelegram = Pick<Telegram, 'sendMessage' | 'editMessage' | 'deleteMessage'>;
type LineLimits = Pick<Limits, 'statusAfterMs' | 'statusEveryMs'>;

/**
 * The status lines of a process: silent messages with a stop button while a turn lasts, for chats that get no drafts. A line
 * never contains the answer, so a late edit of the line does no harm. Remembers the ids of new lines, since a turn that was read
 * before the send lacks them.
 */
export function createStatusLines(telegram: LineTelegram, limits: LineLimits) {
  const newIds = new WeakMap<Turn, number>();
  const idOf = (turn: Turn): number | undefined => {
    const { statusLine } = turn.reply;
    return newIds.get(turn) ?? (statusLine === 'sending' ? undefined : statusLine);
  };
  const show = async (turn: Turn, text: string): Promise<void> => {
    const buttons = [[{ text: turn.texts.stopButton, command: '/stop' }]];
    const id = idOf(turn);
    if (id !== undefined) {
      await turn.assertOwned();
      await telegram.editMessage(turn.destination, id, text, { buttons, isOptional: true });
    } else if (turn.reply.statusLine === undefined) {
      const newId = await sendLine(telegram, turn, text, buttons);
      if (newId !== undefined) newIds.set(turn, newId);
    }
  };
  return {
    begin: (turn: Turn) => startLine(limits, turn, (text) => show(turn, text)),
    /** Whether the chat shows a status line for the turn. */
    isShown: (turn: Turn) => idOf(turn) !== undefined,
    /** Deletes the line of a turn, if it has one. Contract: never throws; if the deletion fails, the line stays. */
    async remove(turn: Turn) {
      const id = idOf(turn);
      if (id !== undefined) await telegram.deleteMessage(turn.destination, id);
    },
  };
}

/** Sends the line, and stores and returns its id; undefined if the send fails. Deletes the line if the id cannot be stored. */
async function sendLine(
  telegram: LineTelegram,
  { destination, reply, write }: Turn,
  text: string,
  buttons: readonly { text: string; command: string }[][],
): Promise<number | undefined> {
  await write('', [reply.storeStatusMessage('sending')]);
  const result = await telegram.sendMessage(destination, text, { isSilent: true, buttons, isOptional: true });
  if (!result.ok && result.failure.kind !== 'unknown') await write('', [reply.clearStatusMessage()]);
  if (!result.ok) return undefined;
  const { messageId } = result.value;
  try {
    await write('', [reply.storeStatusMessage(messageId)]);
  } catch (error) {
    await telegram.deleteMessage(destination, messageId);
    throw error;
  }
  return messageId;
}

/**
 * Calls `show` with the newest words at intervals, one call at a time, until a call fails or the line ends. Contract: `doing`
 * returns at once, `end` after the last call; neither throws.
 */
function startLine(
  { statusAfterMs, statusEveryMs }: LineLimits,
  { texts }: Turn,
  show: (text: string) => Promise<void>,
) {
  let words = '';
  let lastText: string | undefined;
  let newestLook = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const newest = words === '' ? texts.working : `${texts.working}\n${words}`;
    if (newest !== lastText) {
      lastText = newest;
      await show(newest);
    }
    if (timer !== undefined) timer = setTimeout(next, statusEveryMs);
  };
  // Ignore the error: if it matters, the turn itself will fail, too.
  const next = () => {
    newestLook = look().catch(() => undefined);
  };
  timer = setTimeout(next, statusAfterMs);
  return {
    doing(newest: string): void {
      words = newest;
    },
    async end(): Promise<void> {
      clearTimeout(timer);
      timer = undefined;
      await newestLook;
    },
  };
}
