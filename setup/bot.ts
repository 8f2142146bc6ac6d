import type { BotProfile } from '../shared/telegram/client.ts';
import type { TelegramFailure } from '../shared/telegram/failure.ts';
import type { RunStep, SetupPorts, Values } from './progress.ts';
import { CancelledError } from './terminal.ts';
import { faultOf } from './value.ts';

const TOKEN = 'TELEGRAM_BOT_TOKEN';
const SERVER = 'TELEGRAM_API_ROOT';

/** Asks for the bot's token until Telegram accepts one. */
export const askBot: RunStep = async (ports, { values }) => {
  const { terminal } = ports;
  const current = values[TOKEN] ?? '';
  const isKept = current !== '' && (await terminal.confirm(`${TOKEN} is set. Keep it?`));
  let token = isKept ? current : await askToken(ports);
  for (;;) {
    const me = await ports.connect({ ...values, [TOKEN]: token }).getMe();
    if (me.ok) {
      terminal.good(`Telegram accepts the token of @${me.value.username}.`);
      terminal.explain('Groups', groupAdvice(me.value));
      // As an answer, the address of the Bot API server gets into the file even if only the environment has it.
      const { [SERVER]: server } = values;
      return { answers: { [TOKEN]: token, ...(server && { [SERVER]: server }) }, bot: me.value };
    }
    if (await wantsOtherToken(ports, values, me.failure)) token = await askToken(ports);
  }
};

function askToken({ terminal }: SetupPorts): Promise<string> {
  return terminal.askSecret({
    message: "Your bot's token (send /newbot to @BotFather in Telegram to get one; what you type is not shown)",
    faultOf: (value) => faultOf(TOKEN, value),
  });
}

async function wantsOtherToken({ terminal }: SetupPorts, values: Values, failure: TelegramFailure): Promise<boolean> {
  if (failure.kind === 'unauthorized') {
    terminal.warn('Telegram does not accept this token. Copy it again from @BotFather: /mybots, your bot, API Token.');
    return true;
  }
  const server = values[SERVER] ?? 'https://api.telegram.org';
  terminal.warn(
    `${URL.parse(server)?.host ?? 'The server'} could not be asked about the token: ${failure.description}`,
  );
  const next = await terminal.choose('What now?', [
    { value: 'again', label: 'Try again' },
    { value: 'token', label: 'Enter another token' },
    { value: 'stop', label: 'Stop', hint: 'nothing is written' },
  ]);
  if (next === 'stop') throw new CancelledError();
  return next === 'token';
}

function groupAdvice({ username, can_read_all_group_messages: readsAll }: BotProfile): string {
  if (readsAll === true) {
    return 'Privacy mode is off: the bot sees every message in its groups.\nIt answers those that mention it or reply to it.';
  }
  return [
    'Privacy mode is on, as for every new bot: in groups the bot sees commands',
    'and replies to its own messages, but no mentions.',
    `To let people write "@${username} …" in groups: send /setprivacy to`,
    '@BotFather, choose Disable, then remove the bot from the group and add it again.',
    'Private chats need none of this.',
  ].join('\n');
}
