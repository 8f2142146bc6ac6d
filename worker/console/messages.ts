import type { Hono } from 'hono';
import { html } from 'hono/html';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { findLetter, LETTER_NAME, type Replayed } from '../../shared/state/lane/dead-letters.ts';
import { replayLetter } from '../operator/letters.ts';
import { lettersReport, readLetters } from '../report/letters.ts';
import { messageReport, readContent, readMessage } from '../report/message.ts';
import { ENTRY_NAME, findMessages, type MessageName, TRACE_NAME } from '../report/message-location.ts';
import { messageName, shardsOf } from '../report/report.ts';
import { fieldOf } from './login.ts';
import { HOME } from './pages/layout.ts';
import { type ReportView, reportView, unknown } from './reports.ts';
import type { DeskPorts, Visit, VisitEnv } from './visit.ts';

const LETTERS_SHOWN = 50;
/** Whoever has the token is the same to us. */
const BY_CONSOLE = { by: 'console', why: '' };

const NEWS: Readonly<Record<Replayed[0], string>> = {
  replayed: 'It is back at the end of its lane, and will be answered once.',
  gone: 'It was put back or removed already: nothing was done.',
  chatless: 'It names no chat, so nobody can be answered: it stays.',
  unfinished: 'A piece of it is still being put aside: try again in a moment.',
};

/** Serves the pages of single messages and of the dead letters, and the button that puts one back. */
export function serveMessages(app: Hono<VisitEnv>, desk: DeskPorts): void {
  const { source } = desk;
  app.get(`${HOME}/find`, (visit) => {
    const name = (visit.req.query('name') ?? '').trim();
    const isMessage = ENTRY_NAME.test(name) || TRACE_NAME.test(name);
    return visit.redirect(`${HOME}/${isMessage ? 'message' : 'chat'}/${encodeURIComponent(name)}`, 303);
  });
  app.get(`${HOME}/message/:name{.+}`, async (visit) => {
    const [name, ...others] = await findMessages(source, visit.req.param('name'));
    if (name === undefined) return unknownMessage(visit, desk);
    return others.length > 0 ? reportView(visit, desk, choice([name, ...others])) : showMessage(visit, desk, name);
  });
  app.get(`${HOME}/dead`, (visit) => showLetters(visit, desk));
  app.post(`${HOME}/dead/replay`, async (visit) => {
    const news = await replay(desk, await fieldOf(visit, 'letter'));
    return visit.redirect(`${HOME}/dead?news=${news}`, 303);
  });
}

async function showLetters(visit: Visit, desk: DeskPorts) {
  const { source } = desk;
  const chat = parseChatKey(visit.req.query('chat') ?? '')?.chat;
  const letters = await readLetters(source, chat === undefined ? {} : { chat }, { size: LETTERS_SHOWN });
  const report = lettersReport(letters, Date.now());
  const news = visit.req.query('news') ?? '';
  const said = Object.hasOwn(NEWS, news) ? NEWS[news as keyof typeof NEWS] : undefined;
  const before = said === undefined ? html`` : html`<p class="done" role="status">${said}</p>`;
  return reportView(visit, desk, { title: 'Dead letters', report, at: `${HOME}/dead`, before });
}

/** A letter that is gone was put back by another click, or by the command line: either way its message goes its way. */
async function replay({ source, log }: DeskPorts, name: string): Promise<Replayed[0]> {
  if (!LETTER_NAME.test(name)) return 'gone';
  const letter = await findLetter(source.redis, shardsOf(source), name).catch(() => undefined);
  if (letter === undefined) return 'gone';
  const [news] = await replayLetter(source, letter, BY_CONSOLE);
  log.info({ letter: name, news }, 'an operator put a dead letter back');
  return news;
}

async function showMessage(visit: Visit, desk: DeskPorts, name: MessageName) {
  const { config, source } = desk;
  const message = await readMessage(source, name);
  if (message === undefined) return unknownMessage(visit, desk);
  const { letter } = message;
  const content = { text: config.LOG_CONTENT ? await readContent(source, name, letter) : 'hidden' };
  const letterName = source.shards === 1 || letter === undefined ? letter : `${name.shard}/${letter}`;
  const extras = { content, ...(letterName !== undefined && { letterName }) };
  return reportView(visit, desk, {
    title: `Message ${message.entry}`,
    report: messageReport(message, Date.now(), extras),
  });
}

/** The messages that one id may mean. */
function choice(names: readonly MessageName[]): ReportView {
  const rows = names.map(({ shard, entry }) => [messageName(`${shard}/${entry}`)]);
  const intro = 'Several shards have a message with this id.';
  const report = {
    title: 'Which one?',
    nowMs: Date.now(),
    sections: [{ intro, table: { columns: ['Message'], rows } }],
  };
  return { title: 'Which one?', report };
}

function unknownMessage(visit: Visit, desk: DeskPorts) {
  const text = 'Nothing is kept of this message, or it was never accepted.';
  return unknown(visit, desk, 'Unknown message', text);
}
