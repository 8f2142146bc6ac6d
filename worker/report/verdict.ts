import { CAUSES, ruleOf } from '../alerts/cause.ts';
import type { Condition } from '../alerts/incident.ts';
import { EVERY_CHAT, type Pause } from '../lane/pauses.ts';
import { isIntended } from '../watch/rules.ts';
import type { IncidentReport } from './incidents.ts';

/** Why the installation is not well. */
export interface Trouble {
  /** The cause of an incident, which is a heading of the runbook, or what no incident can tell of. */
  cause: string;
  text: string;
  todo: string;
}

/** What the verdict is about. */
export interface Judged {
  workers: number;
  takesWrites: boolean;
  unaccounted: number;
  pauses: readonly Pause[];
  /** The conditions that hold now. */
  conditions: readonly Condition[];
  incidents: readonly IncidentReport[];
}

/** All that is wrong now, the worst first; empty when all is well. Pure. */
export function troublesOf(judged: Judged): Trouble[] {
  const { conditions, incidents } = judged;
  const seen = new Set<string>(conditions.map(({ cause }) => cause));
  const open = incidents.filter(
    (each) => each.isOpen && !isIntended(each) && endsWhenMended(each.cause) && !seen.has(each.cause),
  );
  return [
    ...ofProcesses(judged),
    ...conditions
      .filter((each) => !isIntended(each))
      .map(({ cause, text }) => ({ cause, text, todo: CAUSES[cause].todo })),
    ...open.map(({ cause, latest, todo }) => ({ cause, text: latest, todo })),
  ];
}

function ofProcesses({ workers, takesWrites, unaccounted, pauses }: Judged): Trouble[] {
  const all = pauses.find(({ chat }) => chat === EVERY_CHAT);
  const troubles: (Trouble | false)[] = [
    !takesWrites && {
      cause: 'redis',
      text: 'Redis answers, but takes no writes.',
      todo: 'See "npm run cli -- check".',
    },
    workers === 0 && { cause: 'worker', text: 'No worker process is alive.', todo: 'Start the gateway.' },
    unaccounted !== 0 && {
      cause: 'ledger',
      text: `${unaccounted} messages are unaccounted for.`,
      todo: CAUSES.ledger.todo,
    },
    all !== undefined && {
      cause: 'paused',
      text: `Everything is paused by ${all.by}: ${all.why || 'no reason was given'}.`,
      todo: '"npm run cli -- resume" goes on.',
    },
  ];
  return troubles.filter((each) => each !== false);
}

/** What a lasting state opened is red until it ends; what happened to single messages is told of, and over. */
function endsWhenMended(cause: IncidentReport['cause']): boolean {
  const endsBy = ruleOf(cause)?.endsBy;
  return endsBy === 'watch' || endsBy === 'alert';
}
