import { MUTANTS, type Mutant } from '../chaos/mutants.ts';

/** A mutant that no schedule can find, and why. */
export interface Outside {
  readonly name: string;
  readonly why: string;
}

const ALERTS = 'what becomes of an alert once it is queued: no alerter runs in a schedule';
const CLOCK = 'how long something takes: no schedule has a clock';

/** By the names of the fault-injection suite. */
const WHY_OUTSIDE: Readonly<Record<string, string>> = {
  'the operator is not told of what opens': ALERTS,
  'an alert that nobody took is dropped': ALERTS,
  'data that Redis lost is not noticed': 'a Redis that loses data: here it keeps all that it has taken',
  'a chat is not given back the session that was innocent':
    'a model that refuses what a message says, and the recovery from that: here it answers or is busy',
  'a message that is to blame stays in its conversation':
    'a model that refuses what a message says, and the recovery from that: here it answers or is busy',
  'a dead poller is known by time alone': CLOCK,
  'the first poll waits for news': CLOCK,
  'a connection to what is a replica by now is kept': 'connections and failovers: here all share one connection',
};

/** The mutants that schedules have to find. */
export const FINDABLE: readonly Mutant[] = MUTANTS.filter(({ name }) => WHY_OUTSIDE[name] === undefined);

/** Those that lie outside. */
export const OUTSIDE: readonly Outside[] = MUTANTS.flatMap(({ name }) => {
  const why = WHY_OUTSIDE[name];
  return why === undefined ? [] : [{ name, why }];
});
