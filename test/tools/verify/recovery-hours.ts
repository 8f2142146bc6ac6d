import type { ReactionRule } from '../../stand-in/claude/reaction.ts';
import type { Ground } from './ground.ts';
import { about, chatsFrom, type Hour } from './hour.ts';

/** A conversation that is longer than the window, by our own count. */
const LONG = { exchanges: 200, chars: 1_500 };
const CHATS = { compacted: 1111, fresh: 1112, failing: 1120, many: 1130, never: 1160 } as const;
const FAILING_CHATS = 4;
const MANY_CHATS = 14;
const NEVER = '[never fits]';

async function askInLong(ground: Ground, chats: readonly number[], text: string): Promise<void> {
  for (const chat of chats) await ground.importExchanges(chat, LONG.exchanges, LONG.chars);
  for (const chat of chats) ground.telegram.say(chat, text);
  for (const chat of chats) await ground.untilOutcomes(chat, 1);
}

/** The request is refused as too long, whatever our own count says. */
function refusing(mark: string, times = Number.POSITIVE_INFINITY): ReactionRule {
  let left = times;
  return (call) => (call.kind === 'main' && about(call, mark) && left-- > 0 ? { do: 'overflow' } : undefined);
}

const noSummary: ReactionRule = ({ kind }) =>
  kind === 'compaction'
    ? { do: 'error', status: 400, type: 'invalid_request_error', message: 'this model writes no summaries' }
    : undefined;

/** Asked once more; the fresh session fits. */
const REFUSED_UNTIL_BELIEVED = 2;

export const RECOVERY_HOURS: readonly Hour[] = [
  {
    name: 'long conversations: one is compacted (stage 1), one goes on in a fresh session (stage 2)',
    fires: [],
    async play({ ground }) {
      const mark = '[still too long]';
      const refused = ground.react(refusing(mark, REFUSED_UNTIL_BELIEVED));
      await askInLong(ground, [CHATS.compacted], 'Are you still there?');
      await askInLong(ground, [CHATS.fresh], `${mark} Are you still there?`);
      refused.end();
    },
  },
  {
    name: 'many long conversations, and for some no summary can be made',
    fires: ['SpillwayManyOverflows', 'SpillwayCompactionFails', 'SpillwayManyFreshSessions'],
    async play({ ground, untilFiring }) {
      const failing = ground.react(noSummary);
      await askInLong(ground, chatsFrom(CHATS.failing, FAILING_CHATS), 'Where were we?');
      failing.end();
      await askInLong(ground, chatsFrom(CHATS.many, MANY_CHATS), 'Where were we?');
      await untilFiring(this.fires);
    },
  },
  {
    name: 'a message that fits no window',
    fires: ['SpillwayRecoveryFailed', 'SpillwayMessagesFailed'],
    async play({ ground, untilFiring }) {
      const refused = ground.react(refusing(NEVER));
      ground.telegram.say(CHATS.never, `${NEVER} Are you still there?`);
      await ground.untilOutcomes(CHATS.never, 1);
      refused.end();
      await untilFiring(this.fires);
    },
  },
];
