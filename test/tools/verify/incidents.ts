import { runFile } from '../../fixture/command.ts';
import type { ReactionRule } from '../../stand-in/claude/reaction.ts';
import { commandEnv, type Ground } from './ground.ts';
import { about } from './hour.ts';

/** Trouble of which an operator knows nothing but the alert. */
export interface NightIncident {
  name: string;
  /** Begins it; resolves to what puts it right. */
  begin(ground: Ground): Promise<() => Promise<void>>;
  /** The alerts that are about it, in the gateway's words or by the name of a rule. */
  alert: RegExp;
  /** What must be read somewhere before somebody can say what is wrong. */
  cause: RegExp;
}

const CHATS = { loop: 1301, stuck: 1305 } as const;
const LOOP = '[loop]';
const STUCK = '[stuck]';
const LOOP_MESSAGES = 3;
const FOR_EVER = 1_000_000;
/** Just above what Redis uses, so that it is nearly full. */
const NEARLY_FULL = 1.12;

/** Asked once more, and once more after the endpoint has counted that it fits. */
const REFUSED_UNTIL_BELIEVED = 3;

/** Each message of this chat is refused until that is believed, so that each costs a recovery. */
function refusingEach(): ReactionRule {
  const refused = new Map<string, number>();
  return (call) => {
    const times = refused.get(call.pendingText) ?? 0;
    if (call.kind !== 'main' || !call.pendingText.includes(LOOP) || times >= REFUSED_UNTIL_BELIEVED) return undefined;
    refused.set(call.pendingText, times + 1);
    return { do: 'overflow' };
  };
}

/** The five incidents of the operators' review, as they come at night. */
export const INCIDENTS: readonly NightIncident[] = [
  {
    name: 'one chat overflows again and again',
    alert: /(?:Conversations outgrew the model|the model rejected them)[\s\S]*\b1301\b/,
    // The number in words, or so many rows of a table.
    cause: /[2-9] recoveries recently|(?:context\.\S+.{0,200}?\b1301\b.*?){3}/s,
    async begin(ground) {
      const refused = ground.react(refusingEach());
      for (let n = 1; n <= LOOP_MESSAGES; n++) {
        ground.telegram.say(CHATS.loop, `${LOOP} Question ${n}?`);
        await ground.untilOutcomes(CHATS.loop, n);
      }
      return async () => refused.end();
    },
  },
  {
    name: 'the provider is down',
    alert: /the model endpoint|SpillwayProviderFailing/,
    cause: /overloaded/i,
    async begin(ground) {
      const down = ground.react(() => ({ do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' }));
      return async () => down.end();
    },
  },
  {
    name: 'the token is revoked',
    alert: /bot token|SpillwayNoPolls/i,
    cause: /token is refused|(?:refuse|reject)s? the (?:bot )?token|Unauthorized/i,
    async begin(ground) {
      ground.telegram.fail('*', { status: 401, description: 'Unauthorized' }, FOR_EVER);
      return async () => ground.telegram.heal();
    },
  },
  {
    name: 'Redis is nearly full',
    alert: /Redis is nearly full/,
    cause: /Redis is nearly full|of \d+ MB, (?:8|9)\d %/,
    async begin({ peek }) {
      const used = Number(/used_memory:(\d+)/.exec(await peek.info('memory'))?.[1]);
      await peek.config('SET', 'maxmemory', Math.round(used * NEARLY_FULL));
      return async () => void (await peek.config('SET', 'maxmemory', 0));
    },
  },
  {
    name: 'one chat is stuck',
    alert: /Messages have waited too long[\s\S]*\b1305\b|SpillwayUnanswered/,
    cause: /asking the model/,
    async begin(ground) {
      const stuck = ground.react((call) => (about(call, STUCK) ? { do: 'hang' } : undefined));
      ground.telegram.say(CHATS.stuck, `${STUCK} Are you there?`);
      return async () => {
        stuck.end();
        await runFile('worker/cli/main.ts', ['cancel', String(CHATS.stuck)], commandEnv(ground));
        await ground.untilOutcomes(CHATS.stuck, 1);
      };
    },
  },
];
