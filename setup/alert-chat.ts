import type { Telegram } from '../shared/telegram/client.ts';
import { listen } from './listen.ts';
import type { Progress, RunStep, SetupPorts } from './progress.ts';
import type { Option, Terminal } from './terminal.ts';
import { faultOf } from './value.ts';

const ALERTS = 'TELEGRAM_ALERT_CHAT_ID';
const TEST = 'Spillway is being set up. Alerts for its operator will come to this chat.';

type Choice = 'own' | 'group' | 'type' | 'none';

/** Asks where alerts go, until a test message arrives there or the person wants no alert chat. */
export const askAlertChat: RunStep = async (ports, progress) => {
  const telegram = ports.connect(progress.values);
  const current = progress.values[ALERTS] || undefined;
  if (current !== undefined && (await ports.terminal.confirm(`${ALERTS} is set: ${current}. Keep it?`))) {
    const id = await testChat(ports.terminal, telegram, current);
    if (id !== undefined) return { answers: { [ALERTS]: id } };
  }
  for (;;) {
    const choice = await chooseChat(ports, progress);
    const id = choice === undefined ? undefined : await testChat(ports.terminal, telegram, choice);
    if (id !== undefined) return { answers: { [ALERTS]: id } };
  }
};

async function chooseChat(ports: SetupPorts, progress: Progress): Promise<string | undefined> {
  const { ownerId, bot } = progress;
  const own: Option<Choice>[] = [{ value: 'own', label: 'Your private chat with the bot' }];
  const choice = await ports.terminal.choose<Choice>('Where should alerts go?', [
    ...(ownerId === undefined ? [] : own),
    { value: 'group', label: 'A group', hint: 'better for a team' },
    { value: 'type', label: 'Another chat, by its id' },
    { value: 'none', label: 'Nowhere', hint: 'they are only logged' },
  ]);
  if (choice === 'own') return String(ownerId);
  if (choice === 'none') return 'none';
  const group = choice === 'group' ? await listen(ports, progress.values, 'group', bot?.username ?? '') : undefined;
  if (group !== undefined) return String(group.chatId);
  return ports.terminal.ask({ message: 'The numeric id of that chat', faultOf: (value) => faultOf(ALERTS, value) });
}

/**
 * Sends a test message, unless `id` is `none`. Returns `id`, or the new id if the group has become a supergroup; `undefined` if
 * the message did not arrive.
 */
async function testChat(terminal: Terminal, telegram: Telegram, id: string): Promise<string | undefined> {
  if (id === 'none') return id;
  const result = await telegram.sendMessage({ chatId: Number(id) }, TEST);
  if (result.ok) {
    terminal.good('The test message has arrived.');
    return id;
  }
  const { kind, migratedTo, description } = result.failure;
  if (kind === 'migrated' && migratedTo !== undefined) return testChat(terminal, telegram, String(migratedTo));
  const advice = kind === 'gone' ? ' A bot cannot start a chat: write to it first, or add it to the group.' : '';
  terminal.warn(`The test message did not arrive: ${description}.${advice}`);
  return undefined;
}
