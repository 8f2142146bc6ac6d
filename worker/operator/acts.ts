import { closeLetters, UnknownNameError } from '../../shared/state/lane/dead-letters.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { hasLetters, type Incident } from '../alerts/incident.ts';
import { noteAct } from '../alerts/note-act.ts';
import { shardsOf } from '../report/report.ts';
import type { Act, Subject } from './act.ts';
import { allow, disallow, ignore, pause, resume, resumeAll } from './chats.ts';
import { deliver, purge, replay } from './letters.ts';
import { cancel, probe, promote, retry } from './messages.ts';
import { forget, importRecords, reset } from './sessions.ts';

export type IncidentSubject = Subject & { incident: Incident };

/** Ends an incident. If its cause can have dead letters, also closes all present letters, even those of other incidents. */
const close: Act<IncidentSubject> = {
  action: 'close',
  label: 'Close',
  async find({ redis }, id) {
    const { book } = await createBookStore(redis).read();
    const incident = book.get(id);
    if (incident === undefined) throw new UnknownNameError('There is no such incident. It may be over.');
    return { id, title: `Incident ${id}`, incident };
  },
  async apply({ redis, shards }, { incident }, { by, entry }) {
    const atMs = await serverTimeMs(redis);
    const shardKeys = hasLetters(incident.cause) ? shardsOf({ shards }) : [];
    await Promise.all(shardKeys.map((keys) => closeLetters(redis, keys, atMs)));
    await noteAct(redis, incident, 'close', { by, atMs, result: 'Closed', ...(entry && { entry }) });
    return { kind: 'closed', effect: 'done', text: 'Closed' };
  },
};

/** All kinds of actions of operators, for every surface. `runAct` runs them. */
export const ACTS = {
  replay,
  deliver,
  purge,
  retry,
  promote,
  probe,
  cancel,
  pause,
  'pause-all': pause,
  resume,
  'resume-all': resumeAll,
  allow,
  disallow,
  ignore,
  close,
  import: importRecords,
  reset,
  forget,
} satisfies Record<string, Act>;

/** Finds a kind of action by its name. Throws `UnknownNameError` if there is none. */
export function findAct(name: string): Act {
  if (!Object.hasOwn(ACTS, name)) throw new UnknownNameError('There is no such action.');
  return ACTS[name as keyof typeof ACTS];
}
