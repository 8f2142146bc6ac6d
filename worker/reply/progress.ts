import { within } from '../../shared/base/lifecycle.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Limits } from '../limits.ts';
import { createDrafts, type Drafts, type KeepShown } from './drafts.ts';
import { createStatusLines, type StatusLines } from './status-line.ts';

/** The view that people have of a turn before its answer. */
export interface Progress {
  /** Takes all text so far. Contract: returns at once and never throws. */
  write(text: string): void;
  /** Takes words for the present activity besides writing; empty after its end. Contract: as `write`. */
  doing(words: string): void;
  /** Resolves when the view has made its last call. Contract: never rejects. */
  end(): Promise<void>;
}

/** Shows the progress of the turns of a process. */
export interface ProgressViews {
  /** Each text waits until `keep` has ended. */
  begin(turn: Turn, message: InboundMessage, keep: KeepShown): Progress;
  /** Whether the chat has a message with progress, until `clear`. */
  isLeft(turn: Turn): boolean;
  /** Removes that message, after the answer was sent. Contract: throws nothing; if the removal fails, the message stays. */
  clear(turn: Turn): Promise<void>;
}

const DRAFTS_FIRST_MS = 100;
const DRAFTS_REFRESH_MS = 20_000;
const NOTHING: Progress = { write() {}, doing() {}, end: async () => {} };

/** Shows no progress. */
export const NO_PROGRESS: ProgressViews = { begin: () => NOTHING, isLeft: () => false, clear: async () => {} };

/**
 * Shows progress in the way that the operator has chosen and the chat allows. `draft`: a draft in a private chat, else a
 * status line; `status`: a status line everywhere.
 */
export function createProgressViews(
  telegram: Telegram,
  streaming: 'draft' | 'status' | 'off',
  limits: Limits,
): ProgressViews {
  const { draftsEveryMs: everyMs } = limits;
  const firstAfterMs = Math.min(DRAFTS_FIRST_MS, everyMs);
  const drafts = createDrafts(telegram, { firstAfterMs, everyMs, refreshMs: DRAFTS_REFRESH_MS });
  const statusLines = createStatusLines(telegram, limits);
  return {
    begin(turn, message, keep) {
      if (streaming === 'off') return NOTHING;
      if (streaming === 'draft' && message.chatType === 'private')
        return inDraft(drafts.begin(message, turn.destination, keep));
      return inStatusLine(statusLines.begin(turn));
    },
    isLeft: (turn) => statusLines.isShown(turn),
    clear: (turn) => statusLines.remove(turn),
  };
}

/** Shows the activity below the text. */
function inDraft(draft: ReturnType<Drafts['begin']>): Progress {
  let answer = '';
  let activity = '';
  const show = () => draft.write([answer, activity && `_${activity}_`].filter((part) => part !== '').join('\n\n'));
  return {
    write(text) {
      answer = text;
      show();
    },
    doing(words) {
      activity = words;
      show();
    },
    end: () => draft.end(),
  };
}

function inStatusLine(line: ReturnType<StatusLines['begin']>): Progress {
  return { write() {}, doing: (words) => line.doing(words), end: () => line.end() };
}

/** Telegram shows the action for 5 seconds. */
const REPEAT_MS = 4_500;
/** A reply waits this long for a call in flight, which would show "typing…" below it. */
const LAST_MS_MAX = 1_000;

/** Shows "typing…" in a chat until the returned function is called, which resolves after the last call. Ignores failures. */
export function showTyping(telegram: Pick<Telegram, 'sendTyping'>, to: Destination): () => Promise<void> {
  let last: Promise<unknown> | undefined;
  const show = () => {
    const call = telegram.sendTyping(to).finally(() => {
      if (last === call) last = undefined;
    });
    last = call;
  };
  show();
  const timer = setInterval(show, REPEAT_MS);
  return async () => {
    clearInterval(timer);
    if (last) await within(last, LAST_MS_MAX);
  };
}
