import type { Service } from '../../shared/base/lifecycle.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Menu } from '../../shared/telegram/commands.ts';
import type { TelegramResult } from '../../shared/telegram/failure.ts';
import type { ProducerEnv } from '../env.ts';
import { waitOut } from './poller.ts';

/** Fetches the bot's name, and registers the bot's menus. Repeats each call until its result is final; see `untilAnswered`. */
export function introduceBot(
  telegram: Pick<Telegram, 'getMe' | 'setCommands'>,
  menus: readonly Menu[],
): Service & Pick<ProducerEnv, 'botName'> {
  const stopping = new AbortController();
  let name: string | undefined;
  const introduce = async (): Promise<void> => {
    const me = await untilAnswered(() => telegram.getMe(), stopping.signal);
    if (me?.ok) name = me.value.username;
    for (const menu of menus) await untilAnswered(() => telegram.setCommands(menu), stopping.signal);
  };
  void introduce();
  return {
    name: 'introduction',
    botName: () => name,
    // Nobody needs the result of a call in flight, so do not wait for the call.
    async stop() {
      stopping.abort();
    },
  };
}

/** Repeats a call until Telegram accepts it, rejects it, or does not know the method. Returns `undefined` after an abort. */
async function untilAnswered<T>(
  call: () => Promise<TelegramResult<T>>,
  signal: AbortSignal,
): Promise<TelegramResult<T> | undefined> {
  for (let failures = 1; !signal.aborted; failures++) {
    const result = await call();
    if (result.ok || result.failure.kind === 'rejected' || result.failure.kind === 'not_offered') return result;
    await waitOut(result.failure, failures, signal);
  }
  return undefined;
}
