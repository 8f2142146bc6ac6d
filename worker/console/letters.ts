import type { Hono } from 'hono';
import { html } from 'hono/html';
import { LETTER_NAME } from '../../shared/state/lane/dead-letters.ts';
import { type Beside, type LetterFilter, lettersMeant } from '../../shared/state/lane/letter-list.ts';
import { type LettersLeft, readFilter, replayable, replayLetters } from '../operator/letters.ts';
import { lettersReport, readLetters } from '../report/letters.ts';
import { shardsOf } from '../report/report.ts';
import { attributionOf, saidOf } from './acts.ts';
import { HOME } from './pages/layout.ts';
import { filterForm, lettersLinks, type RunShown, runLink, runPage } from './pages/letters.ts';
import { reportView } from './reports.ts';
import { type DeskPorts, fieldOf, show, type Visit, type VisitEnv } from './visit.ts';

const LETTERS_SHOWN = 50;
/** Messages that one press puts back. */
const BATCH = 50;
const DEAD = `${HOME}/dead`;

/** A filter as it stands in an address or a form, and what it means. */
interface Asked {
  words: Readonly<Record<string, string>>;
  filter: LetterFilter;
}

/** Serves the dead letters by pages, and a run that puts many of them back, batch by batch. */
export function serveLetters(app: Hono<VisitEnv>, desk: DeskPorts): void {
  app.get(DEAD, (visit) => showLetters(visit, desk));
  app.get(`${DEAD}/run`, async (visit) => {
    const asked = askedOf((name) => visit.req.query(name));
    return typeof asked === 'string' ? refuse(visit, desk, asked) : showRun(visit, desk, asked);
  });
  app.post(`${DEAD}/run`, async (visit) => {
    const form = await visit.req.parseBody();
    const asked = askedOf((name) => (typeof form[name] === 'string' ? form[name] : undefined));
    return typeof asked === 'string' ? refuse(visit, desk, asked) : run(visit, desk, asked);
  });
}

async function showLetters(visit: Visit, desk: DeskPorts) {
  const asked = askedOf((name) => visit.req.query(name));
  if (typeof asked === 'string') return refuse(visit, desk, asked);
  const beside = besideOf(visit);
  const read = await readLetters(desk.source, asked.filter, { size: LETTERS_SHOWN, ...(beside && { beside }) });
  return reportView(visit, desk, {
    ...{ title: 'Dead letters', at: DEAD, report: lettersReport(read, Date.now()) },
    before: html`${saidOf(visit)}${filterForm(asked.words)}${runLink(asked.words, read.total)}`,
    after: lettersLinks(asked.words, read, beside !== undefined),
  });
}

/** What an address or a form asks for, or what is wrong with it. */
function askedOf(read: (name: string) => string | undefined): Asked | string {
  const [chat = '', reason = '', since = ''] = ['chat', 'reason', 'since'].map((name) => read(name)?.trim());
  const reading = readFilter({ chat, reason, since }, Date.now());
  if (!reading.ok) return reading.wrong;
  const { sinceMs } = reading.filter;
  const untilMs = Date.parse(read('before') ?? '');
  const isBounded = !Number.isNaN(untilMs);
  // A time that is counted back from now moves on from page to page.
  const iso = (ms: number) => new Date(ms).toISOString();
  const words = { chat, reason, since: sinceMs === undefined ? '' : iso(sinceMs) };
  return {
    words: { ...words, before: isBounded ? iso(untilMs) : '' },
    filter: { ...reading.filter, ...(isBounded && { untilMs }) },
  };
}

const WRONG: Readonly<Record<string, string>> = {
  chat: 'A chat is its numeric id, with .<topic> where it has topics.',
  since: 'The time is 90m, 2h, 3d, or one such as 2026-11-22T10:00Z.',
};

function refuse(visit: Visit, { token }: DeskPorts, wrong: string) {
  const body = html`<p class="problem" role="alert">${WRONG[wrong] ?? ''} Nothing was done.</p>${filterForm({})}`;
  return show(visit, token, { title: 'Dead letters', body, at: DEAD }, 400);
}

function besideOf(visit: Visit): Beside | undefined {
  const [older, newer] = [nameIn(visit.req.query('older')), nameIn(visit.req.query('newer'))];
  if (older !== undefined) return { olderThan: older };
  return newer === undefined ? undefined : { newerThan: newer };
}

/** The name of a letter; nothing can be older than one of the time 0. */
function nameIn(text = ''): string | undefined {
  return LETTER_NAME.test(text) && !/(?:^|\/)0+-/.test(text) ? text : undefined;
}

/** How far a run has come: from its own address or form. */
function placeIn(read: (name: string) => string | undefined) {
  const numberIn = (name: string) => (/^\d{1,15}$/.test(read(name) ?? '') ? Number(read(name)) : undefined);
  const [untilMs, after] = [numberIn('until'), nameIn(read('after'))];
  const from: LettersLeft | undefined = untilMs === undefined || after === undefined ? undefined : { untilMs, after };
  return { from, of: numberIn('of'), isOver: read('over') === '1' };
}

/** How many letters are left, and which one is the next. */
async function measure({ source }: DeskPorts, filter: LetterFilter, from: LettersLeft | undefined) {
  const meant = replayable({ ...filter, ...(from && { untilMs: from.untilMs }) });
  let left = 0;
  let first = '';
  for await (const { name } of lettersMeant(source.redis, shardsOf(source), meant, from?.after)) {
    if (left === 0) first = name;
    left += 1;
  }
  return { left, first };
}

async function showRun(visit: Visit, desk: DeskPorts, { words, filter }: Asked) {
  const { from, of, isOver } = placeIn((name) => visit.req.query(name));
  const { left, first } = await measure(desk, filter, from);
  const [why, name] = [visit.req.query('why') ?? '', visit.req.query('name') ?? ''];
  const run: RunShown = {
    ...{ words, left, isOver, isRepeated: visit.req.query('did') === 'repeated', batch: BATCH },
    of: Math.max(of ?? left, left),
    fields: { ...words, first, of: String(of ?? left), ...placeFields(from) },
    ...(of !== undefined && { who: { why, name } }),
  };
  const body = runPage(run, desk.token.formKey(visit.get('session') ?? ''));
  return show(visit, desk.token, { title: 'Put back', body, at: DEAD });
}

/** Puts one batch back, unless a click before this one has done it. */
async function run(visit: Visit, desk: DeskPorts, { words, filter }: Asked) {
  const form = await visit.req.parseBody();
  const { from, of } = placeIn((name) => (typeof form[name] === 'string' ? form[name] : undefined));
  const { left, first } = await measure(desk, filter, from);
  const [why, name] = [await fieldOf(visit, 'why'), await fieldOf(visit, 'name')];
  const kept = { ...words, of: String(of ?? left), why, name };
  if (left > 0 && first !== (await fieldOf(visit, 'first')))
    return visit.redirect(addressOf({ ...kept, ...placeFields(from), did: 'repeated' }), 303);
  const size = { max: BATCH, ...(from && { from }) };
  const { replayed, chatless, next } = await replayLetters(desk.source, filter, await attributionOf(visit), size);
  desk.log.info({ replayed, chatless }, 'an operator put dead letters back');
  return visit.redirect(addressOf({ ...kept, ...(next ? placeFields(next) : { over: '1' }) }), 303);
}

function placeFields(from: LettersLeft | undefined): Record<string, string> {
  return from === undefined ? {} : { until: String(from.untilMs), after: from.after };
}

function addressOf(fields: Readonly<Record<string, string>>): string {
  return `${DEAD}/run?${new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''))}`;
}
