import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { METHOD_MISSING, MISSING_MS } from '../../shared/telegram/method.ts';
import { preview } from './plan.ts';

/** The preview of an answer that the model is still writing. */
export interface Draft {
  /** Takes the whole text of the answer so far. Contract: returns at once and never throws. */
  write(text: string): void;
  /** Ends the draft. Resolves when its last call has ended. Contract: never rejects. */
  end(): Promise<void>;
}

/**
 * Stores the text that a draft is about to show, so that a crash does not lose the text. Contract: rejects if the draft must
 * not show the text, e.g. because the attempt has lost its turn.
 */
export type KeepShown = () => Promise<void>;

/** Creates the drafts of a process. */
export interface Drafts {
  /** Begins the draft of an answer. Shows each text only after `keep` has resolved, and only in a private chat. */
  begin(message: InboundMessage, to: Destination, keep: KeepShown): Draft;
}

interface DraftPace {
  /** How long the first words wait before the draft shows them. An answer that is complete by then needs no draft. */
  firstAfterMs: number;
  /** The shortest time between two updates. */
  everyMs: number;
  /** The time after which the draft sends an unchanged text again, since Telegram removes a draft after 30 seconds. */
  refreshMs: number;
}

/**
 * After this many 404 answers in a row, the server counts as unable to show drafts. One 404 may come from a proxy that is
 * restarting, so one suffices only if the text of the answer says that the method is missing.
 */
const MISSING_MAX = 2;

const NOTHING: Draft = { write() {}, end: async () => {} };

/**
 * Shows answers while the model writes them, as Telegram's drafts: previews that vanish by themselves. A draft is not part
 * of the reply: if the process dies, or freezes and resumes, the delivered messages stay as they are. Edits of the reply's own
 * message could not guarantee this.
 *
 * If the server turns out not to support drafts, sends none for a day. Any other failure ends only the current draft.
 */
export function createDrafts(telegram: Pick<Telegram, 'sendDraft'>, pace: DraftPace): Drafts {
  let missing = 0;
  let missingUntilMs = 0;
  return {
    begin(message, to, keep) {
      if (message.chatType !== 'private' || Date.now() < missingUntilMs) return NOTHING;
      return startDraft(pace, async (soFar) => {
        await keep();
        const { text, entities } = preview(soFar);
        const result = await telegram.sendDraft(to, message.messageId, text, entities);
        if (result.ok || result.failure.kind !== 'not_offered') missing = 0;
        else missing += METHOD_MISSING.test(result.failure.description) ? MISSING_MAX : 1;
        if (missing >= MISSING_MAX) missingUntilMs = Date.now() + MISSING_MS;
        return result.ok;
      });
    },
  };
}

/** Calls `show` with the newest text at intervals, one call at a time, until a call fails or the draft ends. */
function startDraft({ firstAfterMs, everyMs, refreshMs }: DraftPace, show: (text: string) => Promise<boolean>): Draft {
  let newest = '';
  let lastText = '';
  let lastMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let newestShow = Promise.resolve();
  const showNewest = async (): Promise<void> => {
    const isOld = lastText !== '' && Date.now() - lastMs >= refreshMs;
    if (newest !== lastText || isOld) {
      [lastText, lastMs] = [newest, Date.now()];
      // Ignore the error: if it matters, the turn itself will fail, too.
      if (!(await show(newest).catch(() => false))) return;
    }
    if (timer !== undefined) timer = setTimeout(() => void look(), everyMs);
  };
  const look = (): Promise<void> => {
    newestShow = showNewest();
    return newestShow;
  };
  return {
    write(text) {
      const isFirst = newest === '' && text.trim() !== '';
      if (text.trim() !== '') newest = text;
      if (isFirst) timer = setTimeout(() => void look(), firstAfterMs);
    },
    async end() {
      clearTimeout(timer);
      timer = undefined;
      await newestShow;
    },
  };
}
