import { within } from '../../shared/base/lifecycle.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Limits } from '../limits.ts';
import { createDrafts, type Draft, type KeepShown } from './drafts.ts';
import { createStatusLines, type StatusLines } from './status-line.ts';

/** Shows the people in a chat the progress of one turn, until the reply. */
export interface Progress extends Draft {
  /** Takes words for an activity, such as a tool call, or '' when it is over. Contract: returns at once and never throws. */
  doing(words: string): void;
}

/** Shows the progress of the turns of a process. */
export interface ProgressViews {
  /** Begins to show the progress of a turn. Shows each text of the answer only after `keep` has resolved. */
  begin(turn: Turn, message: InboundMessage, keep: KeepShown): Progress;
  /** Whether the chat still has a message that shows progress, for `clear` to remove. */
  isLeft(turn: Turn): boolean;
  /** Removes the message that shows progress, if any. Contract: never throws; on failure, the message stays. */
  clear(turn: Turn): Promise<void>;
}

const DRAFTS_FIRST_MS = 100;
const DRAFTS_REFRESH_MS = 20_000;
const NOTHING: Progress = { write() {}, doing() {}, end: async () => {} };

/** Shows no progress. */
export const NO_PROGRESS: ProgressViews = { begin: () => NOTHING, isLeft: () => false, clear: async () => {} };

/**
 * Shows progress in the way that the operator has chosen and the chat allows. `draft`: a draft in a private chat, elsewhere a
 * status line; `status`: a status line everywhere; `off`: nothing.
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

/** Shows progress in a draft: the answer so far, and below it the activity. */
function inDraft(draft: Draft): Progress {
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

/** Telegram shows "typing…" for 5 seconds. */
const REPEAT_MS = 4_500;
/** The longest wait of a reply for a call in flight. If the reply overtook the call, "typing…" would show below the reply. */
const LAST_MS_MAX = 1_000;

/** Shows "typing…" in a chat until the returned function runs. That function waits for a call in flight. Ignores failures. */
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
