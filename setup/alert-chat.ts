import type { Telegram } from '../shared/telegram/client.ts';
import { listen } from './listen.ts';
import type { Progress, RunStep, SetupPorts } from './progress.ts';
import type { Option, Terminal } from './terminal.ts';
import { faultOf } from './value.ts';

const ALERTS = 'TELEGRAM_ALERT_CHAT_ID';
const TEST = 'Spillway is being set up. Alerts for its operator will come to this chat.';

type Choice = 'own' | 'group' | 'type' | 'none';

/** Finds out where alerts go, and sends a message there. */
export const askAlertChat: RunStep = async (ports, progress) => {
  const telegram = ports.connect(progress.values);
  const given = progress.values[ALERTS] || undefined;
  if (given !== undefined && (await ports.terminal.confirm(`${ALERTS} is set: ${given}. Keep it?`))) {
    const kept = await reach(ports.terminal, telegram, given);
    if (kept !== undefined) return { answers: { [ALERTS]: kept } };
  }
  for (;;) {
    const chosen = await chooseChat(ports, progress);
    const reached = chosen === undefined ? undefined : await reach(ports.terminal, telegram, chosen);
    if (reached !== undefined) return { answers: { [ALERTS]: reached } };
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

/** The chat's id when a message arrives there; undefined when none does. A group may have become a supergroup. */
async function reach(terminal: Terminal, telegram: Telegram, id: string): Promise<string | undefined> {
  if (id === 'none') return id;
  const sent = await telegram.sendMessage({ chatId: Number(id) }, TEST);
  if (sent.ok) {
    terminal.good('The test message has arrived.');
    return id;
  }
  const { kind, migratedTo, description } = sent.failure;
  if (kind === 'migrated' && migratedTo !== undefined) return reach(terminal, telegram, String(migratedTo));
  const advice = kind === 'gone' ? ' A bot cannot start a chat: write to it first, or add it to the group.' : '';
  terminal.warn(`The test message did not arrive: ${description}.${advice}`);
  return undefined;
}
