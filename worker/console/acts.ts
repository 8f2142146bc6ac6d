import type { Hono } from 'hono';
import { html } from 'hono/html';
import { counted } from '../../shared/base/text.ts';
import { type ChatKey, keysOf, parseChatKey } from '../../shared/redis/keys.ts';
import { type DeadLetter, LETTER_NAME, lettersNamed } from '../../shared/state/lane/dead-letters.ts';
import { EVERY_CHAT, readPauses } from '../../shared/state/lane/stops.ts';
import type { Attribution } from '../../shared/state/process/actions.ts';
import { cancelChat, cancelMessage } from '../operator/cancel.ts';
import { countReplayable, purgeLetter, replayAll, replayLetter } from '../operator/letters.ts';
import { pause, resume } from '../operator/pause.ts';
import { retryMessage } from '../operator/retry.ts';
import { CANCELLED, PAUSED, REPLAYED, RESUMED, RETRIED } from '../operator/words.ts';
import { resumeOf } from '../report/message.ts';
import { findMessages, type MessageName } from '../report/message-location.ts';
import { type Act, type ReportSource, shardsOf } from '../report/report.ts';
import { because } from '../report/words.ts';
import { isAsked, pathOfAct, questionPage } from './pages/acts.ts';
import { HOME, type Html, problemPage } from './pages/layout.ts';
import { type DeskPorts, fieldOf, show, type Visit, type VisitEnv } from './visit.ts';

/** What an act is about, as it was found. */
interface Meant {
  /** Its name, at the beginning of a sentence. */
  name: string;
  /** The page that shows what became of it. */
  back: string;
  /** What is lost or stopped, for those who are asked once more. */
  warning?: Html;
  /** Does it. Returns the word for the result, of those that the verb has. */
  run(by: Attribution): Promise<string>;
}

/** Finds what a form or a link names; `undefined` where there is nothing of this name. */
type Find = (at: ReportSource, target: string) => Promise<Meant | undefined>;

/** What a verb is about, and what is said of it. */
interface DeedOf {
  find: Find;
  /** What is said of each result, behind the name. */
  words: Readonly<Record<string, string>>;
}

const SEVERAL = { several: 'may be one of several: choose it by its shard' };

const DEEDS: Readonly<Record<Act['verb'], DeedOf>> = {
  cancel: {
    find: async (at, target) =>
      parseChatKey(target) === undefined ? findMessage(at, target, cancelling) : findChat(at, target, cancellingAll),
    words: { ...CANCELLED, ...SEVERAL },
  },
  retry: { find: (at, target) => findMessage(at, target, retrying), words: { ...RETRIED, ...SEVERAL } },
  pause: { find: (at, target) => findPausable(at, target, pausing), words: PAUSED },
  resume: { find: (at, target) => findPausable(at, target, resuming), words: RESUMED },
  replay: {
    find: async (at, target) => (await findLettersOfTime(at, target)) ?? findLetter(at, target, replaying),
    words: { ...REPLAYED, ...SEVERAL, done: 'is done: what is still kept of them names no chat, or has failed again' },
  },
  purge: {
    find: (at, target) => findLetter(at, target, purging),
    words: { removed: 'is removed for good', gone: REPLAYED.gone, ...SEVERAL },
  },
};

/** Serves what an operator does to one thing: a question where it asks once more, and the deed itself. */
export function serveActs(app: Hono<VisitEnv>, desk: DeskPorts): void {
  app.get(pathOfAct(':verb'), async (visit) => {
    const verb = verbOf(visit);
    const target = visit.req.query('target') ?? '';
    const meant = verb && isAsked({ verb, target }) ? await DEEDS[verb].find(desk.source, target) : undefined;
    return verb === undefined || meant === undefined ? nothing(visit, desk) : ask(visit, desk, { verb, target, meant });
  });
  app.post(pathOfAct(':verb'), async (visit) => {
    const verb = verbOf(visit);
    const target = fieldOf(visit, 'target');
    const meant = verb && (await DEEDS[verb].find(desk.source, target));
    if (verb === undefined || meant === undefined) return nothing(visit, desk);
    const result = await meant.run(await attributionOf(visit));
    desk.log.info({ verb, target, result }, 'an operator acted in the console');
    const all = target === EVERY_CHAT ? '.all' : '';
    return visit.redirect(`${meant.back}?did=${verb}.${result.replaceAll(' ', '-')}${all}`, 303);
  });
}

/** What was done by the click before this page. */
export function saidOf(visit: Visit): Html {
  const [verb = '', result = '', all] = (visit.req.query('did') ?? '').split('.');
  const { words } = isVerb(verb) ? DEEDS[verb] : { words: {} as DeedOf['words'] };
  const known = result.replaceAll('-', ' ');
  if (!Object.hasOwn(words, known)) return html``;
  return html`<p class="done" role="status">${all === 'all' ? 'Every chat' : 'It'} ${words[known]}.</p>`;
}

/** What stops all chats, or lets them go on. */
export async function actsOnAll({ source }: DeskPorts): Promise<readonly Act[]> {
  const pauses = await readPauses(source.redis, keysOf(0));
  const isPaused = pauses.some(({ chat }) => chat === EVERY_CHAT);
  return [isPaused ? resumeOf(EVERY_CHAT) : { verb: 'pause', target: EVERY_CHAT, label: 'Pause all' }];
}

/** Who acts: whoever has the token is the same to us, and may say more. */
export async function attributionOf(visit: Visit): Promise<Attribution> {
  const [name, why] = [await lineOf(visit, 'name'), await lineOf(visit, 'why')];
  return { by: name === '' ? 'console' : `console (${name})`, why };
}

async function lineOf(visit: Visit, field: string): Promise<string> {
  return fieldOf(visit, field)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
}

function verbOf(visit: Visit): Act['verb'] | undefined {
  const verb = visit.req.param('verb') ?? '';
  return isVerb(verb) ? verb : undefined;
}

function isVerb(text: string): text is Act['verb'] {
  return Object.hasOwn(DEEDS, text);
}

function nothing(visit: Visit, { token }: DeskPorts) {
  const text = 'There is nothing of this name, so nothing was done.';
  return show(visit, token, { title: 'Not done', body: problemPage('Not done', text) }, 404);
}

function ask(
  visit: Visit,
  { token }: DeskPorts,
  { verb, target, meant }: { verb: Act['verb']; target: string; meant: Meant },
) {
  const { name, back, warning = html`` } = meant;
  const button = `${VERBS_SAID[verb]} ${name.replace(/^[A-Z]/, (letter) => letter.toLowerCase())}`;
  const question = { title: `${button}?`, text: warning, action: pathOfAct(verb), target, button, back };
  const body = questionPage(question, token.formKey(visit.get('session') ?? ''));
  return show(visit, token, { title: question.title, body });
}

const VERBS_SAID: Readonly<Record<Act['verb'], string>> = {
  ...{ cancel: 'Cancel', retry: 'Try', pause: 'Pause', resume: 'Resume', replay: 'Put back', purge: 'Remove' },
};

type Deed<Of> = (at: ReportSource, of: Of) => Pick<Meant, 'run' | 'warning'>;

async function findMessage(at: ReportSource, target: string, deed: Deed<MessageName>): Promise<Meant | undefined> {
  const [name, ...others] = await findMessages(at, target);
  if (name === undefined) return undefined;
  const meant = { name: `Message ${target}`, back: `${HOME}/message/${encodeURIComponent(target)}` };
  return others.length > 0 ? { ...meant, run: async () => 'several' } : { ...meant, ...deed(at, name) };
}

async function findChat(at: ReportSource, target: string, deed: Deed<ChatKey>): Promise<Meant | undefined> {
  const chat = parseChatKey(target)?.chat;
  return chat && { name: `Chat ${chat}`, back: `${HOME}/chat/${encodeURIComponent(chat)}`, ...deed(at, chat) };
}

type Pausable = ChatKey | typeof EVERY_CHAT;

async function findPausable(at: ReportSource, target: string, deed: Deed<Pausable>): Promise<Meant | undefined> {
  if (target !== EVERY_CHAT) return findChat(at, target, deed);
  return { name: 'Every chat', back: HOME, ...deed(at, EVERY_CHAT) };
}

/** A letter that is gone was put back by another click, or by the command line: either way its message goes its way. */
async function findLetter(at: ReportSource, target: string, deed: Deed<DeadLetter>): Promise<Meant | undefined> {
  if (!LETTER_NAME.test(target)) return undefined;
  const [letter, ...others] = await lettersNamed(at.redis, shardsOf(at), target);
  const meant = { name: `Dead letter ${target}`, back: `${HOME}/dead` };
  if (letter === undefined) return { ...meant, run: async () => 'gone' };
  return others.length > 0 ? { ...meant, run: async () => 'several' } : { ...meant, ...deed(at, letter) };
}

const TIME = /^(\d{1,15})\.\.(\d{1,15})$/;

/** The letters of a time, in ms since the epoch; `undefined` where the target names no time. */
async function findLettersOfTime(at: ReportSource, target: string): Promise<Meant | undefined> {
  const [, since, until] = TIME.exec(target) ?? [];
  if (since === undefined) return undefined;
  const filter = { sinceMs: Number(since), untilMs: Number(until) };
  return {
    ...{ name: counted(await countReplayable(at, filter), 'dead letter'), back: `${HOME}/dead` },
    warning: html`Each is answered once, after what waits in its chat.`,
    async run(by) {
      await replayAll(at, filter, by);
      return 'done';
    },
  };
}

function linkTo(of: 'message' | 'chat', id: string): Html {
  return html`${of} <a class="id" href="${HOME}/${of}/${encodeURIComponent(id)}">${id || 'unknown'}</a>`;
}

const cancelling: Deed<MessageName> = (at, name) => ({
  warning: html`What runs ends within seconds, and its user is told. It cannot be taken back.`,
  run: (by) => cancelMessage(at, name, by),
});

const cancellingAll: Deed<ChatKey> = (at, chat) => ({
  warning: html`All that it waits for ends, as with /stop, and its users are told. It cannot be taken back.`,
  run: (by) => cancelChat(at, chat, by),
});

const retrying: Deed<MessageName> = (at, name) => ({
  async run(by) {
    const result = await retryMessage(at, name, by);
    return result.kind === 'under way' && result.isPaused ? 'resting' : result.kind;
  },
});

const pausing: Deed<Pausable> = (at, chat) => ({
  warning: html`Messages are accepted and wait; what runs ends as it would. ${
    chat === EVERY_CHAT ? 'Nobody gets an answer' : 'Nobody in it gets an answer'
  } until you resume.`,
  run: async (by) => ((await pause(at, chat, by)) ? 'paused' : 'repeated'),
});

const resuming: Deed<Pausable> = (at, chat) => ({
  run: async (by) => ((await resume(at, chat, by)) ? 'resumed' : 'repeated'),
});

const replaying: Deed<DeadLetter> = (at, letter) => ({ run: async (by) => (await replayLetter(at, letter, by))[0] });

const purging: Deed<DeadLetter> = (at, letter) => ({
  warning: html`The ${linkTo('message', letter.entry)} of ${linkTo('chat', letter.record.chat ?? '')}${because(letter.record.reason)} will never be answered.`,
  run: async (by) => ((await purgeLetter(at, letter, by)) ? 'removed' : 'gone'),
});
