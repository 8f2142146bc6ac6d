import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import {
  createDrafts,
  DRAFTS_EVERY_MS,
  DRAFTS_FIRST_MS,
  DRAFTS_REFRESH_MS,
  type Drafts,
  type KeepShown,
} from './drafts.ts';
import { createStatusLines, STATUS_AFTER_MS, STATUS_EVERY_MS, type StatusLines } from './status-line.ts';

/** The view that people have of a turn before its answer. */
export interface Progress {
  /** Takes all text so far. Contract: returns at once and never throws. */
  write(text: string): void;
  /** Takes what is being done besides writing, in words; empty when that is over. Contract: as `write`. */
  doing(words: string): void;
  /** Resolves when nothing more will be shown. Contract: never rejects. */
  end(): Promise<void>;
}

/** Shows the progress of the turns of a process. */
export interface ProgressViews {
  /** `keep` ends before any of the text is shown. */
  begin(turn: Turn, message: InboundMessage, to: Destination, keep: KeepShown): Progress;
  /** Whether something of it stays in the chat until it is cleared. */
  isLeft(turn: Turn): boolean;
  /** Takes that away, once the answer is there. Contract: throws nothing; what cannot be taken away stays. */
  clear(turn: Turn, to: Destination): Promise<void>;
}

const NOTHING: Progress = { write() {}, doing() {}, end: async () => {} };

/** Shows none. */
export const NO_PROGRESS: ProgressViews = { begin: () => NOTHING, isLeft: () => false, clear: async () => {} };

/** Shorter than the defaults in tests. */
export interface ProgressLimits {
  draftsEveryMs?: number;
  statusAfterMs?: number;
  statusEveryMs?: number;
}

/**
 * Shows progress in the way that the operator has chosen and the chat allows. `draft`: a draft where the chat is private,
 * else a status line; `status`: a status line everywhere.
 */
export function createProgressViews(
  telegram: Telegram,
  streaming: 'draft' | 'status' | 'off',
  { draftsEveryMs: everyMs = DRAFTS_EVERY_MS, statusAfterMs, statusEveryMs }: ProgressLimits = {},
): ProgressViews {
  const firstAfterMs = Math.min(DRAFTS_FIRST_MS, everyMs);
  const drafts = createDrafts({ telegram, firstAfterMs, everyMs, refreshMs: DRAFTS_REFRESH_MS });
  const statusLines = createStatusLines({
    telegram,
    afterMs: statusAfterMs ?? STATUS_AFTER_MS,
    everyMs: statusEveryMs ?? STATUS_EVERY_MS,
  });
  return {
    begin(turn, message, to, keep) {
      if (streaming === 'off') return NOTHING;
      if (streaming === 'draft' && message.chatType === 'private') return inDraft(drafts.begin(message, to, keep));
      return inStatusLine(statusLines.begin(turn, to));
    },
    isLeft: (turn) => statusLines.isShown(turn),
    clear: (turn, to) => statusLines.remove(turn, to),
  };
}

/** The words stand below the text, until there is more text. */
function inDraft(draft: ReturnType<Drafts['begin']>): Progress {
  let said = '';
  let done = '';
  const show = () =>
    draft.write([said, ...(done === '' ? [] : [`_${done}_`])].filter((part) => part !== '').join('\n\n'));
  return {
    write(text) {
      said = text;
      show();
    },
    doing(words) {
      done = words;
      show();
    },
    end: () => draft.end(),
  };
}

function inStatusLine(line: ReturnType<StatusLines['begin']>): Progress {
  return { write() {}, doing: (words) => line.doing(words), end: () => line.end() };
}
