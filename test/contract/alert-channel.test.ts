import { afterEach, expect, test } from '@jest/globals';
import { createTelegram } from '../../shared/telegram/client.ts';
import { enter } from '../../worker/alerts/book.ts';
import { telegramChannel } from '../../worker/alerts/channel.ts';
import type { Incident } from '../../worker/alerts/incident.ts';
import { messageOf } from '../../worker/alerts/message.ts';
import { CHAT } from '../fixture/bot-api.ts';
import { startTelegram, type TelegramStandIn } from '../stand-in/telegram/server.ts';

let standIn: TelegramStandIn | undefined;

afterEach(() => standIn?.close());

/** Opens an incident in the operator's chat, and changes its message; returns how that was shown before and after. */
async function shown(runbook: string) {
  standIn = await startTelegram();
  const telegram = createTelegram({ token: standIn.token, apiRoot: standIn.url });
  standIn.say(CHAT, 'hello');
  const channel = telegramChannel(telegram, CHAT);
  const alert = { cause: 'tool-server', key: 'web', text: 'The server is down.' } as const;
  const incident = enter(new Map(), { alerts: [alert], nowMs: 0 }).book.get('tool-server:web') as Incident;
  const message = messageOf(incident, { runbook, installation: 'Home' });
  const sent = await channel.send(message.text, { look: message });
  const [opened] = structuredClone(standIn.shown(CHAT));
  const edited = sent.ok && (await channel.edit(sent.messageId ?? 0, `${message.text} Still.`, message));
  expect([sent, edited]).toMatchObject([{ ok: true }, { ok: true }]);
  return { opened, changed: standIn.shown(CHAT)[0] };
}

test('the message about an incident has its first line in bold, and a button to the runbook, also once it has changed', async () => {
  const { opened, changed } = await shown('https://docs.example/runbook.md');
  const [title = ''] = opened?.text.split('\n') ?? [];
  expect(title).toBe('🟡 Needs attention: Tools are missing: an MCP server is down');
  expect(opened?.text).toContain('\nHome: 1 time since 1970-01-01 00:00:00 UTC');
  const look = {
    entities: [{ type: 'bold', offset: 0, length: title.length }],
    replyMarkup: { inline_keyboard: [[{ text: 'Runbook', url: 'https://docs.example/runbook.md#tool-server' }]] },
  };
  expect(opened).toMatchObject(look);
  expect(changed).toMatchObject({ ...look, text: `${opened?.text} Still.` });
});

test('what Telegram refuses of it, like a button to localhost, costs no alert: it is sent in plain words', async () => {
  const { opened, changed } = await shown('http://localhost/runbook.md');
  const link = 'Runbook: http://localhost/runbook.md#tool-server';
  expect(opened?.text.split('\n').at(-1)).toBe(link);
  expect(opened?.replyMarkup).toBeUndefined();
  expect(changed?.text).toContain(`Still.\n${link}`);
});
