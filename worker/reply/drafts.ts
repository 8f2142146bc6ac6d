import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { METHOD_MISSING, MISSING_MS } from '../../shared/telegram/method.ts';
import { preview } from './plan.ts';

/** The preview of one answer while the model writes it. */
export interface Draft {
  /** Takes all text so far. Contract: returns at once and never throws. */
  write(text: string): void;
  /** Resolves when nothing more will be shown. Contract: never rejects. */
  end(): Promise<void>;
}

/**
 * Stores what is about to be shown, so that what a person saw outlives the process. Contract: rejects where the attempt
 * was overtaken; then nothing may be shown.
 */
export type KeepShown = () => Promise<void>;

/** Begins the drafts of a process. */
export interface Drafts {
  /** A draft for the answer to a message. Only a private chat shows one; `keep` ends before each text is shown. */
  begin(message: InboundMessage, to: Destination, keep: KeepShown): Draft;
}

/** When a draft shows what it has. */
interface DraftPace {
  /** How long the first words wait for more: an answer that is there by then needs no draft. */
  firstAfterMs: number;
  /** The least time between updates. */
  everyMs: number;
  /** Telegram removes a draft after 30 seconds, so an unchanged draft is shown again after this. */
  refreshMs: number;
}

/** A proxy that restarts says "not found" as well: only twice in a row does it mean that there are no drafts. */
const MISSING_MAX = 2;

const NOTHING: Draft = { write() {}, end: async () => {} };

/**
 * Shows answers while they are written, as Telegram's drafts: a preview beside the chat that vanishes by itself. A
 * draft is not part of the reply. So whatever happens to the process that shows it (killed, or frozen and resumed),
 * what was delivered stays as it is; editing the text into the reply's own message could not guarantee that.
 *
 * A server that does not offer drafts is not asked again for a day. Any other failure ends only that answer's draft.
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
        const shown = await telegram.sendDraft(to, message.messageId, text, entities);
        if (shown.ok || shown.failure.kind !== 'not_offered') missing = 0;
        else missing += METHOD_MISSING.test(shown.failure.description) ? MISSING_MAX : 1;
        if (missing >= MISSING_MAX) missingUntilMs = Date.now() + MISSING_MS;
        return shown.ok;
      });
    },
  };
}

/** Shows the newest text at intervals, never two sends at a time, until `show` fails or the draft ends. */
function startDraft({ firstAfterMs, everyMs, refreshMs }: DraftPace, show: (text: string) => Promise<boolean>): Draft {
  let newest = '';
  let shown = '';
  let shownAtMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let showing = Promise.resolve();
  const showNewest = async (): Promise<void> => {
    const isOld = shown !== '' && Date.now() - shownAtMs >= refreshMs;
    if (newest !== shown || isOld) {
      [shown, shownAtMs] = [newest, Date.now()];
      // If a failure here matters, the turn itself will meet it.
      if (!(await show(newest).catch(() => false))) return;
    }
    if (timer !== undefined) timer = setTimeout(() => void look(), everyMs);
  };
  const look = (): Promise<void> => {
    showing = showNewest();
    return showing;
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
      await showing;
    },
  };
}
