import type { Hono } from 'hono';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { compareStreamIds } from '../../shared/redis/stream-id.ts';
import { bindReplay } from '../../shared/state/lane/dead-letters.ts';
import { writeDown } from '../operator/trail.ts';
import { readContent } from '../report/content.ts';
import { allLetters, type DeadLetter, findLetter, LETTER_NAME } from '../report/dead-letters.ts';
import { readMessage } from '../report/message.ts';
import { findMessages, type MessageName } from '../report/message-name.ts';
import { shardsOf } from '../report/source.ts';
import { fieldOf } from './login.ts';
import { deadLettersPage, type ReplayNews } from './pages/dead-letters.ts';
import { HOME } from './pages/layout.ts';
import { problemPage } from './pages/login.ts';
import { choicePage, messagePage } from './pages/message.ts';
import { type DeskPorts, formKeyOf, show, type Visit, type VisitEnv } from './visit.ts';

const LETTERS_SHOWN = 50;
/** Whoever has the token is the same to us. */
const ORDER = { by: 'console', why: '' };

/** Serves the page of a message, and the dead letters with the button that puts one back. */
export function serveMessages(app: Hono<VisitEnv>, desk: DeskPorts): void {
  const { source, token } = desk;
  app.get(`${HOME}/message/:name{.+}`, async (visit) => {
    const [name, ...others] = await findMessages(source, visit.req.param('name'));
    if (name === undefined) return unknown(visit, desk);
    if (others.length > 0) return show(visit, token, { title: 'Which one?', body: choicePage([name, ...others]) });
    return showMessage(visit, desk, name);
  });
  app.get(`${HOME}/dead`, async (visit) => {
    const chat = parseChatKey(visit.req.query('chat') ?? '')?.chat;
    const all = await allLetters(source.redis, shardsOf(source), chat === undefined ? {} : { chat });
    const letters = all.toSorted((one, other) => compareStreamIds(other.id, one.id)).slice(0, LETTERS_SHOWN);
    const view = { letters, total: all.length, nowMs: Date.now(), formKey: formKeyOf(visit, token), chat };
    const body = deadLettersPage({ ...view, news: visit.req.query('news') });
    return show(visit, token, { title: 'Dead letters', body, at: `${HOME}/dead` });
  });
  app.post(`${HOME}/dead/replay`, async (visit) => {
    const news = await replay(desk, await fieldOf(visit, 'letter'));
    return visit.redirect(`${HOME}/dead?news=${news}`, 303);
  });
}

/** A letter that is gone was put back by another click, or by the command line: either way its message goes its way. */
async function replay({ source, log }: DeskPorts, name: string): Promise<ReplayNews> {
  if (!LETTER_NAME.test(name)) return 'gone';
  const letter: DeadLetter | undefined = await findLetter(source.redis, shardsOf(source), name).catch(() => undefined);
  if (letter === undefined) return 'gone';
  await writeDown(source.redis, 'replay', letter.name, ORDER);
  const [news] = await bindReplay(source.redis).withPieces(letter.keys, letter.id);
  log.info({ letter: name, news }, 'an operator put a dead letter back');
  return news;
}

async function showMessage(visit: Visit, { config, source, token }: DeskPorts, name: MessageName) {
  const report = await readMessage(source, name);
  if (report === undefined) return unknown(visit, { token });
  const { letter } = report;
  const content = config.LOG_CONTENT ? await readContent(source, name, letter) : 'hidden';
  const letterName = source.shards === 1 ? letter : `${name.shard}/${letter}`;
  const extras = { nowMs: Date.now(), formKey: formKeyOf(visit, token), content };
  const body = messagePage(report, {
    ...extras,
    ...(letter !== undefined && letterName !== undefined && { letterName }),
  });
  return show(visit, token, { title: `Message ${report.entry}`, body });
}

function unknown(visit: Visit, { token }: Pick<DeskPorts, 'token'>) {
  const body = problemPage('Unknown message', 'Nothing is kept of this message, or it was never accepted.');
  return show(visit, token, { title: 'Unknown message', body }, 404);
}
