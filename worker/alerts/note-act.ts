import type { RedisClient } from '../../shared/redis/connection.ts';
import { createBookStore } from './book-store.ts';
import type { ActName } from './causes/words.ts';
import { endIncident, type Incident, incidentOf, type NotedAct, openingOf } from './incident.ts';

/** How often to try. A try fails if another process writes the book meanwhile, as happens every second or two. */
const TRIES_MAX = 50;

/** Reads the incident of an opening; `undefined` if the incident was removed or has a newer opening. */
export async function readOpening(redis: RedisClient, opening: string): Promise<Incident | undefined> {
  const { book } = await createBookStore(redis).read();
  return [...book.values()].find((incident) => openingOf(incident) === opening);
}

/**
 * Stores an operator's action in its incident, so that the message about the incident shows the action. `close` also ends
 * the incident. Does nothing if the incident was removed or has a newer opening.
 * Contract: rejects when Redis cannot be reached, or if other processes write the book all the time.
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
    const previous = before.acts?.[name];
    // If the same button press is handled again, the action keeps its original time.
    const atMs = previous?.entry !== undefined && previous.entry === note.entry ? previous.atMs : note.atMs;
    const withNote = { ...before, acts: { ...before.acts, [name]: { ...note, atMs } } };
    const after = name === 'close' && before.isOpen ? endIncident(withNote, note.atMs) : withNote;
    if (await store.record(storedBook, new Map([...storedBook.book, [id, after]]))) return;
  }
  throw new Error('an act could not be noted: other processes write the book of incidents all the time');
}
