import type { ChatKey, Keys, SessionId } from '../../shared/redis/keys.ts';
import { applyTogether } from '../../shared/state/change.ts';
import { forgetUnlessUnderWay } from '../../shared/state/message/inbound.ts';
import type { ChatArchive } from '../command/chat-archive.ts';
import type { LogRecord } from '../session/record.ts';
import { emptySession, newSessionId } from '../session/store.ts';
import { importSession, type OnProgress } from '../session/transfer.ts';
import type { Act, Subject } from './act.ts';

/** A chat, and the keys of its shard. */
export type StoredChat = Subject & { chat: ChatKey; keys: Keys };

/** Binds a chat to an empty session. The old session stays stored. */
export const reset: Act<StoredChat & { parent: SessionId }> = {
  action: 'reset',
  label: 'Begin anew',
  async apply({ redis }, { chat, keys, title, parent }) {
    const session = newSessionId();
    await applyTogether(redis, emptySession(keys, chat, parent, session));
    const text = `${title} begins anew in session ${session}; ${parent} is kept`;
    return { kind: 'reset', effect: 'done', text, details: { session, parent } };
  },
};

/** Binds a chat to a new session with the given records. */
export const importRecords: Act<StoredChat & { records: LogRecord[]; onProgress: OnProgress }> = {
  action: 'import',
  label: 'Import into',
  async apply({ redis }, { chat, keys, title, records, onProgress }) {
    const session = await importSession(redis, keys, chat, records, onProgress);
    const text = `${title} now uses session ${session}; records: ${records.length}`;
    return { kind: 'imported', effect: 'done', text, details: { session, records: records.length } };
  },
};

/**
 * Erases all data of a chat, as `/forget` does, with or without a running gateway. Does not begin while the chat has
 * unanswered messages. After a crash, or if a message arrives meanwhile, the next run erases the rest.
 */
export const forget: Act<StoredChat & { archive: Pick<ChatArchive, 'erase'> }> = {
  action: 'forget',
  label: 'Erase',
  async apply({ redis }, { chat, keys, title, archive }) {
    let underWay = await forgetUnlessUnderWay(redis, keys, chat, []);
    if (underWay === 0) underWay = await forgetUnlessUnderWay(redis, keys, chat, await archive.erase(chat, Date.now()));
    const details = { forgotten: underWay === 0, underWay };
    if (underWay === 0) return { kind: 'forgotten', effect: 'done', text: `All of chat ${chat} is erased`, details };
    const todo = `Cancel them (npm run cli -- cancel ${chat}), then run this again`;
    const text = `${title} is not erased. Unanswered messages: ${underWay}. ${todo}`;
    return { kind: 'under way', effect: 'failed', text, details };
  },
};
