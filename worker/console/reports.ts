import type { Hono } from 'hono';
import { html } from 'hono/html';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { bindReplay, findLetter, LETTER_NAME, type Replayed } from '../../shared/state/lane/dead-letters.ts';
import { recordAction } from '../../shared/state/process/actions.ts';
import { loadPrices } from '../model/prices.ts';
import { auditReport } from '../report/audit-report.ts';
import { chatReport, readChat } from '../report/chat.ts';
import { incidentsReport, readIncidents } from '../report/incidents.ts';
import { lettersReport, readLetters } from '../report/letters-report.ts';
import { messageReport, readContent, readMessage } from '../report/message.ts';
import { ENTRY_NAME, findMessages, type MessageName, TRACE_NAME } from '../report/message-location.ts';
import { readRecoveries, recoveriesReport } from '../report/recoveries.ts';
import { messageName, type Report, shardsOf } from '../report/report.ts';
import { readRollUp } from '../report/roll-up.ts';
import { readStatus } from '../report/status.ts';
import { statusReport } from '../report/status-report.ts';
import { counted } from '../report/words.ts';
import { fieldOf } from './login.ts';
import { HOME, type Html, type Page, problemPage } from './pages/layout.ts';
import { reportPage } from './pages/report.ts';
import { type DeskPorts, show, type Visit, type VisitEnv } from './visit.ts';

const REFRESH_SECONDS = 15;
const DAY_MS = 24 * 3600_000;
/** The periods that can be chosen, in days. */
const PERIODS = [1, 7, 30];
const LETTERS_SHOWN = 50;
/** Whoever has the token is the same to us. */
const BY_CONSOLE = { by: 'console', why: '' };

const NEWS: Readonly<Record<Replayed[0], string>> = {
  replayed: 'It is back at the end of its lane, and will be answered once.',
  gone: 'It was put back or removed already: nothing was done.',
  chatless: 'It names no chat, so nobody can be answered: it stays.',
  unfinished: 'A piece of it is still being put aside: try again in a moment.',
};

/** A page with a report, between what only a page has. */
interface ReportView extends Omit<Page, 'formKey' | 'body'> {
  report: Report;
  before?: Html;
  after?: Html;
}

/** Serves the reports, and the button that puts a dead letter back. */
export function serveReports(app: Hono<VisitEnv>, desk: DeskPorts): void {
  const { config, source } = desk;
  app.get(HOME, async (visit) => {
    const report = statusReport(await readStatus(source, config));
    const title = report.verdict?.word ?? 'Status';
    return view(visit, desk, { title, report, at: HOME, refreshSeconds: REFRESH_SECONDS, after: SEARCH });
  });
  app.get(`${HOME}/incidents`, async (visit) => {
    const report = incidentsReport(await readIncidents(source), Date.now());
    return view(visit, desk, { title: 'Incidents', report, at: `${HOME}/incidents` });
  });
  app.get(`${HOME}/recoveries`, async (visit) => {
    const report = recoveriesReport(await readRecoveries(source), Date.now());
    return view(visit, desk, { title: 'Recoveries', report, at: `${HOME}/recoveries` });
  });
  app.get(`${HOME}/cost`, async (visit) => {
    const days = PERIODS.find((each) => String(each) === visit.req.query('days')) ?? 7;
    const nowMs = Date.now();
    const rollUp = await readRollUp(source, nowMs - days * DAY_MS, await loadPrices(config.MODEL_PRICES_FILE));
    const report = auditReport(rollUp, { days, nowMs });
    return view(visit, desk, { title: 'Cost', report, at: `${HOME}/cost`, before: periodLinks(days) });
  });
  app.get(`${HOME}/chat/:chat`, async (visit) => {
    const name = parseChatKey(visit.req.param('chat'));
    const chat = name && (await readChat(source, name.chat));
    if (chat === undefined) return unknown(visit, desk, 'Unknown chat', 'Nothing is known of this chat.');
    return view(visit, desk, { title: `Chat ${chat.chat}`, report: chatReport(chat, Date.now()) });
  });
  app.get(`${HOME}/find`, (visit) => {
    const name = (visit.req.query('name') ?? '').trim();
    const isMessage = ENTRY_NAME.test(name) || TRACE_NAME.test(name);
    return visit.redirect(`${HOME}/${isMessage ? 'message' : 'chat'}/${encodeURIComponent(name)}`, 303);
  });
  app.get(`${HOME}/message/:name{.+}`, async (visit) => {
    const [name, ...others] = await findMessages(source, visit.req.param('name'));
    if (name === undefined) return unknownMessage(visit, desk);
    return others.length > 0 ? view(visit, desk, choice([name, ...others])) : showMessage(visit, desk, name);
  });
  app.get(`${HOME}/dead`, (visit) => showLetters(visit, desk));
  app.post(`${HOME}/dead/replay`, async (visit) => {
    const news = await replay(desk, await fieldOf(visit, 'letter'));
    return visit.redirect(`${HOME}/dead?news=${news}`, 303);
  });
}

const SEARCH = html`<form class="search" action="${HOME}/find"><input name="name" aria-label="Message or chat" placeholder="Entry, trace id or chat"><button>Find</button></form>
<p class="note">This page refreshes every ${REFRESH_SECONDS} seconds.</p>`;

function view(visit: Visit, { token }: DeskPorts, { report, before, after, ...page }: ReportView) {
  const body = reportPage(report, token.formKey(visit.get('session') ?? ''));
  return show(visit, token, { ...page, body: html`${before ?? ''}${body}${after ?? ''}` });
}

function periodLinks(current: number): Html {
  const link = (days: number) => {
    const name = counted(days, 'day');
    return days === current ? html`<b>${name}</b>` : html`<a href="${HOME}/cost?days=${days}">${name}</a>`;
  };
  return html`<p class="actions">${PERIODS.map(link)}</p>`;
}

async function showLetters(visit: Visit, desk: DeskPorts) {
  const { source } = desk;
  const chat = parseChatKey(visit.req.query('chat') ?? '')?.chat;
  const letters = await readLetters(source, chat === undefined ? {} : { chat }, LETTERS_SHOWN);
  const report = lettersReport(letters, Date.now());
  const news = visit.req.query('news') ?? '';
  const said = Object.hasOwn(NEWS, news) ? NEWS[news as keyof typeof NEWS] : undefined;
  const before = said === undefined ? html`` : html`<p class="done" role="status">${said}</p>`;
  return view(visit, desk, { title: 'Dead letters', report, at: `${HOME}/dead`, before });
}

/** A letter that is gone was put back by another click, or by the command line: either way its message goes its way. */
async function replay({ source, log }: DeskPorts, name: string): Promise<Replayed[0]> {
  if (!LETTER_NAME.test(name)) return 'gone';
  const letter = await findLetter(source.redis, shardsOf(source), name).catch(() => undefined);
  if (letter === undefined) return 'gone';
  await recordAction(source.redis, 'replay', letter.name, BY_CONSOLE);
  const [news] = await bindReplay(source.redis).withPieces(letter.keys, letter.id);
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
  return view(visit, desk, { title: `Message ${message.entry}`, report: messageReport(message, Date.now(), extras) });
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

function unknown(visit: Visit, { token }: DeskPorts, title: string, text: string) {
  return show(visit, token, { title, body: problemPage(title, text) }, 404);
}
