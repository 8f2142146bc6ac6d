import type { Hono } from 'hono';
import { parseChatKey, type SessionId } from '../../shared/redis/keys.ts';
import { chatReport, readChat } from '../report/chat.ts';
import { messageReport, readContent, readMessage } from '../report/message.ts';
import { ENTRY_NAME, findMessages, type MessageName, TRACE_NAME } from '../report/message-location.ts';
import { messageName } from '../report/report.ts';
import { readSessionOf, sessionReport } from '../report/session.ts';
import { saidOf } from './acts.ts';
import { traceOf } from './incidents.ts';
import { HOME } from './pages/layout.ts';
import { type ReportView, reportView, unknown } from './reports.ts';
import type { DeskPorts, Visit, VisitEnv } from './visit.ts';

/** Serves the pages of single messages, chats and sessions, and the search for one. */
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
  app.get(`${HOME}/chat/:chat`, async (visit) => {
    const name = parseChatKey(visit.req.param('chat'));
    const chat = name && (await readChat(source, name.chat));
    if (chat === undefined) return unknown(visit, desk, 'Unknown chat', 'Nothing is known of this chat.');
    return reportView(visit, desk, {
      ...{ title: `Chat ${chat.chat}`, before: saidOf(visit) },
      report: chatReport(chat, Date.now()),
    });
  });
  app.get(`${HOME}/session/:name{.+}`, async (visit) => {
    const [of = '', id = ''] = visit.req.param('name').split('/', 2);
    const chat = parseChatKey(of)?.chat;
    const session = chat && (await readSessionOf(source, chat, id as SessionId));
    if (!session) return unknown(visit, desk, 'Unknown session', 'Nothing is kept of this session.');
    return reportView(visit, desk, { title: `Session ${id}`, report: sessionReport(session, Date.now()) });
  });
}

async function showMessage(visit: Visit, desk: DeskPorts, name: MessageName) {
  const { config, source } = desk;
  const message = await readMessage(source, name);
  if (message === undefined) return unknownMessage(visit, desk);
  const { letter } = message;
  const content = { text: config.LOG_CONTENT ? await readContent(source, name, letter) : 'hidden' };
  const extras = { content, ...(source.shards > 1 && { shard: name.shard }) };
  return reportView(visit, desk, {
    title: `Message ${message.entry}`,
    ...{ before: saidOf(visit), around: { ways: traceOf(desk, message.traceId) } },
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
