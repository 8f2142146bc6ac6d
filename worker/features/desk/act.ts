import { clip, durationInWords } from '../../../shared/base/text.ts';
import { utcTime } from '../../../shared/base/wall-time.ts';
import { parseChatKey, shardOf } from '../../../shared/redis/keys.ts';
import { msOf } from '../../../shared/redis/stream.ts';
import { UnknownNameError } from '../../../shared/state/lane/dead-letters.ts';
import { EVERY_CHAT } from '../../../shared/state/lane/stops.ts';
import { serverTimeMs } from '../../../shared/state/process/process.ts';
import { actsOf, isAct } from '../../alerts/act.ts';
import type { ActName } from '../../alerts/causes/words.ts';
import { type Incident, incidentOf } from '../../alerts/incident.ts';
import { timeOfLetters } from '../../alerts/letter-counts.ts';
import { noteAct, readOpening } from '../../alerts/note-act.ts';
import { wordRequest } from '../../model/port.ts';
import { type Act, findFor, type Result, runAct, type Subject, titleOf } from '../../operator/act.ts';
import { ACTS, type IncidentSubject } from '../../operator/acts.ts';
import type { ProbeSubject } from '../../operator/messages.ts';
import { everyChat, findChat } from '../../operator/subjects.ts';
import { readChat } from '../../report/chat.ts';
import { readAllPauses } from '../../report/in-flight.ts';
import type { DeskCall, DeskHandler, DeskReply } from './feature.ts';
import { askForChat, chatIn } from './looks.ts';
import { rowsFor } from './offers.ts';

/** The parsed command of a button under an alert. */
interface Press {
  name: ActName;
  /** A message or a chat; empty if the action needs none. */
  target: string;
  /** When the question was asked; absent if the button is not the "Yes" of a question. */
  questionMs: number | undefined;
}

const PRESS_PATTERN = /^([\w-]{10}) ([a-z-]{2,12})(?: (-?\d[\d.-]*))?(?: yes-([0-9a-z]{1,9}))?$/;
const BY_CHARS_MAX = 40;
const QUESTION_LASTS_MS = 600_000;
/** If an action ends later than this after the button press, the reply mentions the time of the press. */
const LATE_MS = 120_000;

const OUTDATED = 'That alert is over or has changed, so nothing was done. /incidents shows what is open now.';
/** For a button press that runs again: its first run may have changed something before a crash. */
const OUTDATED_AFTER_CRASH =
  'That alert is over or has changed, perhaps because of your press. /incidents and /status show the present state.';
const TOO_LATE = 'That question is more than ten minutes old, so nothing was done. Press the alert button again.';

/** `/desk do …`, from buttons of older versions. */
export const oldButton: DeskHandler = () => ({
  text: 'This button is from an older version, so nothing was done. /incidents shows what is open now.',
});

/** `/desk back`: the "Back" button of a question. */
export const dismissQuestion: DeskHandler = () => ({ text: 'Nothing was done.', isAnswered: true });

/**
 * `/desk act <opening> <act> [<message>|<chat>] [yes-<time of the question>]`: a button under an alert. Button presses run one
 * after another in one lane. An action stores its result in the incident. A press that runs again after a crash replies with
 * the stored result or, without one, completes the action. A press of an outdated button only gets a reply that says so.
 */
export const pressButton: DeskHandler = async (call) => {
  const { attempts, entry } = call.context.turn;
  const [, opening = '', name = '', target = '', questionS] = PRESS_PATTERN.exec(call.words.join(' ')) ?? [];
  if (!isAct(name)) return { text: 'This version does not know that button, so nothing was done.' };
  const incident = await readOpening(call.source.redis, opening);
  const note = incident?.acts?.[name];
  if (note?.entry === entry) return resultReply(call, `${note.result}.`, note.atMs);
  if (incident === undefined || !actsOf(incident).includes(name))
    return { text: attempts > 1 ? OUTDATED_AFTER_CRASH : OUTDATED };
  const questionMs = questionS === undefined ? undefined : Number.parseInt(questionS, 36) * 1_000;
  if (questionMs !== undefined && msOf(entry) - questionMs > QUESTION_LASTS_MS)
    return { text: TOO_LATE, isAnswered: true };
  try {
    const reply = await runPress(call, incident, { name, target, questionMs });
    return questionMs === undefined ? reply : { ...reply, isAnswered: true };
  } catch (error) {
    if (error instanceof UnknownNameError) return { text: error.message };
    throw error;
  }
};

async function runPress(call: DeskCall, incident: Incident, press: Press): Promise<DeskReply> {
  const { name, questionMs } = press;
  const { entry } = call.context.turn;
  const act: Act = ACTS[name];
  const subject = await subjectOf(call, incident, press);
  const warning = questionMs === undefined ? await act.warningFor?.(call.source, subject) : undefined;
  if (warning !== undefined) return questionReply(call, act, `${titleOf(act, subject)}? ${warning}`);
  const { effect, text } = await runAsOperator(call, act, subject, `a button of ${incidentOf(incident)}`);
  const note = incident.acts?.[name];
  if (effect !== 'done' && note?.result !== undefined)
    return { text: `${text}. ${note.by} did that at ${utcTime(note.atMs)}: ${note.result}.` };
  const atMs = await serverTimeMs(call.source.redis);
  await noteAct(call.source.redis, incident, name, { by: clip(call.by, BY_CHARS_MAX), atMs, entry, result: text });
  return resultReply(call, `${text}.`, atMs);
}

async function subjectOf(call: DeskCall, incident: Incident, press: Press) {
  const { name } = press;
  if (name === 'close') return { id: incidentOf(incident), title: 'The incident', incident } satisfies IncidentSubject;
  if (name === 'probe') {
    const { model } = call.context.turn.env;
    const ask = () => model.send(wordRequest(call.source.settings.MODEL), call.context.time.signal);
    return { ...everyChat, ask } satisfies ProbeSubject;
  }
  const pressedMs = msOf(call.context.turn.entry);
  return findFor(call.source, ACTS[name], targetOf(incident, press, pressedMs, call.source.shards));
}

/** The name by which the action's `find` finds the subject. */
function targetOf({ waiting, ...incident }: Incident, { name, target }: Press, pressedMs: number, shards: number) {
  if (name === 'allow' || name === 'ignore') return incident.key;
  if (name === 'pause-all') return EVERY_CHAT;
  if (name === 'resume-all') return `${pressedMs}`;
  if (name === 'replay' || name === 'deliver') {
    const { sinceMs, untilMs } = timeOfLetters(incident, pressedMs);
    return `${sinceMs}..${untilMs}`;
  }
  if (target !== waiting?.entry) return target;
  // Name the shard, too, because several shards may have the same entry id.
  return `${shardOf(parseChatKey(waiting.chat)?.chatId ?? 0, shards)}/${target}`;
}

async function questionReply({ source, words }: DeskCall, act: Act, text: string): Promise<DeskReply> {
  const questionS = Math.floor((await serverTimeMs(source.redis)) / 1_000).toString(36);
  const yes = `/desk act ${words.join(' ')} yes-${questionS}`;
  const button = { text: `Yes, ${act.label.toLowerCase()}`, command: yes, destroys: true } as const;
  return { text, buttons: [[button, { text: 'Back', command: '/desk back' }]] };
}

/** The reply with the stored result of an action. After a long wait, the reply mentions the time of the button press. */
function resultReply({ context: { turn } }: DeskCall, text: string, doneMs: number): DeskReply {
  turn.env.reach('act noted');
  const pressedMs = turn.message.ok ? turn.message.value.sentAtMs : doneMs;
  if (doneMs - pressedMs < LATE_MS) return { text };
  const delayText = `You pressed at ${utcTime(pressedMs)}; it was done ${durationInWords(doneMs - pressedMs)} later.`;
  return { text: `${text} ${delayText}` };
}

/** `/pause <chat> [why]`, `/pause all [why]`. */
export const pauseChat: DeskHandler = async (call) => {
  const chat = chatIn(call.words);
  if (chat !== undefined && (await readChat(call.source, chat)) === undefined)
    return { text: `Nothing is known about chat ${chat}. /status and /incidents name the chats in trouble.` };
  return runOnChat(call, 'pause');
};

/** `/resume <chat>`, `/resume all`. */
export const resumeChat: DeskHandler = async (call) => {
  const chats = (await readAllPauses(call.source)).map(({ chat }) => wordFor(chat));
  return runOnChat(call, 'resume', chats);
};

/** Runs an action on the chat that the first word names, or on every chat for "all". Otherwise, the reply offers some chats. */
async function runOnChat(call: DeskCall, name: 'pause' | 'resume', chats?: readonly string[]) {
  const [word = '', ...why] = call.words;
  const chat = word.toLowerCase() === 'all' || word === EVERY_CHAT ? EVERY_CHAT : chatIn(call.words);
  if (chat === undefined) return askForChat(call, name, chats);
  const subject = await findChat(call.source, chat);
  const { text, remainingPauses = [] } = await runAsOperator(call, ACTS[name], subject, why.join(' '));
  return { text: `${text}.`, buttons: rowsFor(remainingPauses.map((each) => `/resume ${wordFor(each)}`)) };
}

/** Runs an action for the operator. The entry of the operator's message identifies a repeated run. */
function runAsOperator(call: DeskCall, act: Act, subject: Subject, why: string): Promise<Result> {
  const { env, entry } = call.context.turn;
  return runAct({ ...call.source, reach: env.reach }, act, subject, { by: `${call.by} (${call.id})`, why, entry });
}

function wordFor(chat: string): string {
  return chat === EVERY_CHAT ? 'all' : chat;
}
