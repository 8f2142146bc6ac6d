import type { RedisClient } from '../../shared/redis/connection.ts';
import { createBookStore } from './book-store.ts';
import type { ActName } from './causes/words.ts';
import { ended, type Incident, incidentOf, type NotedAct, openingOf } from './incident.ts';

/** The book is written every second or two. */
const TRIES_MAX = 50;

/** Reads the incident of an opening; `undefined` when it is forgotten, or has opened again since. */
export async function readOpening(redis: RedisClient, opening: string): Promise<Incident | undefined> {
  const { book } = await createBookStore(redis).read();
  return [...book.values()].find((incident) => openingOf(incident) === opening);
}

/**
 * Notes an act in the incident that it is about, so that the message about it says what was done; `close` ends the incident.
 * Contract: rejects when Redis cannot be reached. Where the incident is forgotten, nothing is noted.
 */
export async function noteAct(
  redis: RedisClient,
  incident: Incident,
  name: ActName,
  note: NotedAct & { result: string },
): Promise<void> {
  const store = createBookStore(redis);
  const id = incidentOf(incident);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const storedBook = await store.read();
    const before = storedBook.book.get(id);
    if (before === undefined || openingOf(before) !== openingOf(incident)) return;
    const known = before.acts?.[name];
    // A press that runs again keeps its first time.
    const atMs = known?.entry !== undefined && known.entry === note.entry ? known.atMs : note.atMs;
    const withNote = { ...before, acts: { ...before.acts, [name]: { ...note, atMs } } };
    const after = name === 'close' && before.isOpen ? ended(withNote, note.atMs) : withNote;
    if (await store.record(storedBook, new Map([...storedBook.book, [id, after]]))) return;
  }
  throw new Error('an act could not be noted: other processes write the book of incidents all the time');
}
