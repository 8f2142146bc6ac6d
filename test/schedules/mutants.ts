import { type Change, type Mutant, mutationsOf } from '../chaos/mutant.ts';
import { FLOW_MUTANTS } from '../chaos/mutants.ts';

/** A mutant that no schedule can find, and why. */
export interface Outside {
  readonly name: string;
  readonly why: string;
}

const ALERTS = 'what becomes of an alert once it is queued: no alerter runs in a schedule';
const CLOCK = 'how long something takes: no schedule has a clock';

const TELEGRAM = 'a Telegram that is away: here it loses single replies, and always answers a probe';

const GROUPS = 'groups, and what of them is addressed: in a schedule everybody talks to the bot alone';

const MODEL = 'a model that refuses what a message says, and the recovery from that: here it answers or is busy';

/** By the names of the fault-injection suite. */
const WHY_OUTSIDE: Readonly<Record<string, string>> = {
  'the operator hears nothing of what opens': ALERTS,
  'an alert that nobody took is dropped': ALERTS,
  'data that Redis lost is not noticed': 'a Redis that loses data: here it keeps all that it has taken',
  'a chat leaves its session before it is answered in the fresh one': MODEL,
  'a message that is to blame stays in its conversation': MODEL,
  'the model is asked although Telegram is away': TELEGRAM,
  'what may follow an addressed message is remembered by nobody': GROUPS,
  'a producer learns of no move that another has seen': GROUPS,
  'an answer is tried thirty times': TELEGRAM,
  'a dead letter keeps no answer': TELEGRAM,
  'what was forgotten stays in the conversation': 'a /forget: here people ask, edit, forward, stop and begin anew',
  'the lease of a dead poller does not run out': CLOCK,
  'the first poll waits for news': CLOCK,
  'a connection to what is a replica by now is kept': 'connections and failovers: here all share one connection',
};

/** A safeguard that a schedule misses when it is taken out. A rare one is looked for where it was found before: `fromSeed`. */
export type FindableMutant = Pick<Mutant, 'name' | 'mutations'> & { readonly fromSeed?: number };

const own = (name: string, change: Change): FindableMutant => ({ name, mutations: mutationsOf(change) });

/** What only the order of the steps decides. */
const OWN: readonly FindableMutant[] = [
  own('what was asked again stays beside its first answer', [
    'worker/session/overlay.ts',
    'withOneCopyOfEach(withScrubs(records), entriesToHide(records))',
    'withScrubs(records)',
  ]),
  own('the chat stays where it is, although a conversation goes on', [
    'worker/features/chats/conversations.ts',
    '    chatState(keys, chat).moveTo(to),\n',
    '',
  ]),
  own('an answer is stored although its message was cancelled', [
    'shared/state/turn/write.lua',
    "(redis.call('HGET', ARGV[at], ARGV[at + 1]) or '') ~= ARGV[at + 2]",
    'false',
  ]),
  own('a message is cancelled although its answer is being delivered', [
    'shared/state/lane/admit.lua',
    ' and not fields[1]',
    '',
  ]),
  own('a message is edited although an attempt at it has begun', [
    'shared/state/message/edit.lua',
    "'fence', 'conclusion'",
    "'conclusion'",
  ]),
  own('a second press decides too', [
    'worker/command/decide.ts',
    'expected: [...parking.expectUndecided(id), parking.expectNewest(parked)]',
    'expected: [parking.expectNewest(parked)]',
  ]),
  own('a press decides and wakes nobody', [
    'worker/command/decide.ts',
    'await env.chatState.wake(head);',
    'await Promise.resolve();',
  ]),
  {
    ...own('a call whose result was lost is made again', [
      'worker/tools/round.ts',
      '(isBegun && call.isReadable',
      '(isBegun && false',
    ]),
    fromSeed: 2_090,
  },
  own('what comes while a parked job ends wakes nobody', [
    'worker/turn/park.ts',
    'if (waiting && ',
    'if (waiting && entry === undefined && ',
  ]),
  own('a call is made although it was declined', [
    'worker/tools/asking.ts',
    "if (how === 'once' || how === 'always') return undefined;",
    'if (how !== undefined) return undefined;',
  ]),
];

/** The mutants that schedules have to find. */
export const FINDABLE: readonly FindableMutant[] = [
  ...FLOW_MUTANTS.filter(({ name }) => WHY_OUTSIDE[name] === undefined),
  ...OWN,
];

/** Those that lie outside. */
export const OUTSIDE: readonly Outside[] = FLOW_MUTANTS.flatMap(({ name }) => {
  const why = WHY_OUTSIDE[name];
  return why === undefined ? [] : [{ name, why }];
});
