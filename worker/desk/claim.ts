import { utcClock, utcTime } from '../../shared/base/utc-time.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { isUnderWay, type NotedAct } from '../alerts/act.ts';
import { actedNotice, type Book, type Notice } from '../alerts/book.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { actsOf, commandOf, tagOf } from '../alerts/buttons.ts';
import type { ActName } from '../alerts/causes/acts.ts';
import { ALERT_WORDS } from '../alerts/causes/words.ts';
import { notifiedOf } from '../alerts/due-notice.ts';
import { ended, type Incident, incidentOf, openingOf } from '../alerts/incident.ts';
import { surroundingsOf } from '../alerts/notice-text.ts';
import { ACTS } from './acts.ts';
import type { DeskPorts, DeskReply } from './desk.ts';
import { DESK_WORDS } from './words.ts';

/** The press of a button under an alert. */
export interface Press {
  opening: string;
  name: ActName;
  /** How often it had been done when the button was drawn, and the tag of the message that it said it was about. */
  n: number;
  tag: string;
  /** The button under our question that was pressed, and when we asked. */
  answer?: { word: string; askedMs: number };
  /** When it was pressed. */
  atMs: number;
  entry: EntryId;
  /** An earlier attempt at this press may have done some of it. */
  isRepeated: boolean;
  by: string;
  id: number;
}

/** A question is answered while who pressed still knows what was asked. */
const ASKED_MS = 600_000;
/** The book is written every second or two. */
const TRIES_MAX = 50;

/** The incident with the note of this press, which was written now or by an earlier attempt; or what its sender is told. */
export type Claimed = { incident: Incident; noted: NotedAct } | DeskReply;

/** Notes a press before it is acted on. Contract: rejects when Redis cannot be reached; idempotent. */
export async function claim(ports: DeskPorts, press: Press): Promise<Claimed> {
  const store = createBookStore(ports.redis);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const stored = await store.read();
    const nowMs = await serverTimeMs(ports.redis);
    const incident = openedAs(stored.book, press);
    if (incident === undefined) return { text: press.isRepeated ? DESK_WORDS.overSince : DESK_WORDS.over };
    const refused = refusal(incident, press, nowMs);
    if (refused) return refused;
    const before = incident.acts?.[press.name];
    if (before?.entry === press.entry) return { incident, noted: before };
    const noted = await noteOf(ports, press, incident, nowMs);
    const after = withAct(incident, press.name, noted, nowMs);
    if (await store.record(stored, put(stored.book, after), [], [])) return { incident: after, noted };
  }
  throw new Error('the book of incidents could not be written: others write it all the time');
}

/** Why a press is not to be acted on; what is asked first is one more reason. Undefined where it is, or was by itself. */
function refusal(incident: Incident, press: Press, nowMs: number): DeskReply | undefined {
  const { name, n, tag, entry } = press;
  const before = incident.acts?.[name];
  if (before?.entry === entry) return undefined;
  // The message has not changed where somebody began it and never came to its end.
  const isLater = before !== undefined && before.n > n && before.result !== undefined;
  if (isLater || (before && isUnderWay(before, nowMs))) return { text: toldBy(before, press) };
  if (!actsOf(incident).includes(name)) return { text: incident.isOpen ? DESK_WORDS.changed : DESK_WORDS.over };
  const about = incident.notified?.waiting;
  if (tag !== '' && (about === undefined || tagOf(about) !== tag)) return { text: DESK_WORDS.other };
  return questionFor(incident, press, nowMs);
}

/** Who did it, and when: the person, an other operator, or the same in another press. */
function toldBy({ id, by, atMs, result }: NotedAct, press: Press): string {
  const who = id === press.id ? DESK_WORDS.you : by;
  return result === undefined ? DESK_WORDS.began(who, utcTime(atMs)) : DESK_WORDS.did(who, utcTime(atMs), result);
}

function questionFor(incident: Incident, press: Press, nowMs: number): DeskReply | undefined {
  const { notified, ...rest } = incident;
  const about = notified?.waiting;
  const question = ACTS[press.name].asks?.({ ...rest, ...(about && { waiting: about }) });
  if (question === undefined) return undefined;
  const { answer, atMs } = press;
  if (answer !== undefined) return atMs - answer.askedMs > ASKED_MS ? { text: DESK_WORDS.tooLate } : undefined;
  const command = commandOf(incident, press.name, about);
  const asked = Math.floor(nowMs / 1_000).toString(36);
  const button = (text: string, word: string) => ({ text, command: `${command} ${word}-${asked}` });
  return {
    text: question.text,
    buttons: [[{ ...button(question.yes, 'yes'), destroys: true }, button(DESK_WORDS.back, 'back')]],
  };
}

async function noteOf(ports: DeskPorts, press: Press, incident: Incident, nowMs: number): Promise<NotedAct> {
  const about = press.tag === '' ? undefined : incident.notified?.waiting;
  const n = (incident.acts?.[press.name]?.n ?? 0) + 1;
  const noted = { n, by: press.by, id: press.id, atMs: nowMs, entry: press.entry, ...(about && { about }) };
  return { ...noted, ...(await ACTS[press.name].fixes?.(ports, incident, nowMs)) };
}

/** Notes how it went. Where the incident is forgotten, or somebody has begun anew, only the reply says it. */
export async function noteResult(ports: DeskPorts, press: Press, result: string): Promise<void> {
  const store = createBookStore(ports.redis);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const stored = await store.read();
    const incident = openedAs(stored.book, press);
    const before = incident?.acts?.[press.name];
    if (incident === undefined || before?.entry !== press.entry || before.result !== undefined) return;
    const noted = { ...before, result };
    const after = withAct(incident, press.name, noted, noted.atMs);
    const notice = noticeOf(ports, after, press.name, noted);
    if (await store.record(stored, put(stored.book, after), [notice], [])) return;
  }
  throw new Error('the result of an act could not be noted: others write the book all the time');
}

function withAct(incident: Incident, name: ActName, noted: NotedAct, nowMs: number): Incident {
  const acted = { ...incident, acts: { ...incident.acts, [name]: noted } };
  if (noted.result === undefined) return acted;
  return name === 'close' ? notifiedOf(ended(acted, nowMs), 'resolved', nowMs) : notifiedOf(acted, 'acted', nowMs);
}

function openedAs(book: Book, { opening }: Press): Incident | undefined {
  return [...book.values()].find((incident) => openingOf(incident) === opening);
}

function put(book: Book, incident: Incident): Book {
  return new Map([...book, [incidentOf(incident), incident]]);
}

function noticeOf({ config }: DeskPorts, incident: Incident, name: ActName, noted: NotedAct): Notice {
  const { by, result = '', atMs } = noted;
  const update = ALERT_WORDS.done(result, by, utcClock(atMs));
  return actedNotice(incident, name === 'close' ? 'resolved' : 'acted', update, surroundingsOf(config));
}

/** Whom the trail names. */
export function attributionOf({ by, id }: Press, incident: Incident) {
  return { by: `${by} (${id})`, why: `a button of ${incidentOf(incident)}` };
}
