import { call } from '../fixture/content-blocks.ts';
import type { ClaudeStandIn } from './claude/server.ts';
import type { ShownMessage } from './telegram/chats.ts';
import type { InlineButton } from './telegram/markup.ts';
import type { TelegramCall, TelegramStandIn } from './telegram/server.ts';

/** The chat that the terminal writes in, and the operator's chat. */
const USER_CHAT = 1001;
const ALERT_CHAT = 9001;

/** A message is printed once it has stood unchanged for so long: while it streams, it changes every second. */
const SETTLE_MS = 300;
const QUIET_MS = 2000;

/** Polling is no news: it goes on as long as the gateway lives. */
const isNews = ({ method }: TelegramCall): boolean => method.toLowerCase() !== 'getupdates';

/** What the model does instead of the next answer, by the command for it: it asks, or notes something. */
const ACTS: Readonly<Record<string, { told: string; name: string; input: object }>> = {
  ask: {
    told: 'the model asks a question before it answers the next message',
    name: 'ask_user',
    input: { question: 'Which of the two harbours do you mean?', choices: ['The old one', 'The new one'] },
  },
  note: {
    told: 'the model notes something when it answers the next message',
    name: 'memory',
    input: { action: 'remember', text: 'Prefers the old harbour' },
  },
};

const COMMANDS = ':press N, :ask, :note, :overflow N, :window N and :quit';

/** A button that can be pressed. */
interface Offered {
  readonly chatId: number;
  readonly messageId: number;
  readonly button: InlineButton;
}

/** A conversation with the bot in lines of text. */
export class Terminal {
  readonly #claude: ClaudeStandIn;
  readonly #telegram: TelegramStandIn;
  readonly #print: (text: string) => void;
  readonly #printed = new Map<string, string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** By the number that is printed; a button keeps its own. */
  readonly #offered: Offered[] = [];
  #overflows = 0;
  #act: string | undefined;
  #acts = 0;
  #newsAt = Date.now();
  hasQuit = false;

  constructor(claude: ClaudeStandIn, telegram: TelegramStandIn, print: (text: string) => void) {
    this.#claude = claude;
    this.#telegram = telegram;
    this.#print = print;
    telegram.openChat(USER_CHAT);
    telegram.openChat(ALERT_CHAT);
    telegram.onAnswer((call) => this.#notice(call));
    claude.react(({ kind, pendingText }) => {
      if (kind !== 'main') return undefined;
      if (this.#overflows === 0 && pendingText === '') return { do: 'answer', text: 'Good. I go by that.' };
      if (this.#overflows === 0) return this.#acting();
      this.#overflows -= 1;
      return { do: 'overflow' };
    });
  }

  /** Prints what a gateway needs to be started against the stand-ins. */
  greet(): void {
    const environment = {
      TELEGRAM_API_ROOT: this.#telegram.url,
      TELEGRAM_BOT_TOKEN: this.#telegram.token,
      TELEGRAM_ALLOWED_IDS: USER_CHAT,
      TELEGRAM_ALERT_CHAT_ID: ALERT_CHAT,
      ANTHROPIC_BASE_URL: this.#claude.url,
      ANTHROPIC_API_KEY: 'stand-in',
      // A settings file may name a real Redis.
      SPILLWAY_ENV_FILE: 'none',
    };
    const lines = Object.entries(environment).map(([name, value]) => `export ${name}=${value}\n`);
    this.#print(
      `Start the gateway in another terminal with:\n\n${lines.join('')}\nThen type a message (:quit ends; also ${COMMANDS.replace(' and :quit', '')}).\n`,
    );
  }

  /** Takes one typed line; false when it was the last. */
  take(line: string): boolean {
    this.#newsAt = Date.now();
    const [, command, argument] = /^:(\w+)(?:\s+(\S+))?$/.exec(line) ?? [];
    if (command === 'quit') this.hasQuit = true;
    else if (command !== undefined) this.#obey(command, Number(argument));
    else if (line !== '') this.#telegram.say(USER_CHAT, line);
    return !this.hasQuit;
  }

  #obey(command: string, amount: number): void {
    const { told } = ACTS[command] ?? {};
    if (told !== undefined) {
      this.#act = command;
      this.#print(`  (${told})\n`);
    } else if (!Number.isInteger(amount) || amount < 0 || !['press', 'overflow', 'window'].includes(command)) {
      this.#print(`  (commands are ${COMMANDS})\n`);
    } else if (command === 'press') {
      this.#press(amount);
    } else if (command === 'overflow') {
      this.#overflows = amount;
      this.#print(`  (the next ${amount} main calls overflow)\n`);
    } else {
      this.#claude.windowTokens = amount;
      this.#print(`  (the window is ${amount} tokens)\n`);
    }
  }

  /** The call of a tool that was ordered, once. */
  #acting(): { do: 'answer'; content: unknown[] } | undefined {
    const { name, input } = ACTS[this.#act ?? ''] ?? {};
    if (name === undefined) return undefined;
    this.#act = undefined;
    this.#acts += 1;
    return { do: 'answer', content: [call(`toolu_play${this.#acts}`, { name, input })] };
  }

  #press(number: number): void {
    const { chatId, messageId, button } = this.#offered[number - 1] ?? {};
    const shown = this.#telegram.shown(chatId ?? 0).find((message) => message.messageId === messageId);
    const data = shown && buttonsOf(shown).find((each) => each.callback_data === button?.callback_data)?.callback_data;
    if (data === undefined || chatId === undefined || messageId === undefined) {
      this.#print(`  (there is no button ${number} that could be pressed now)\n`);
    } else {
      this.#telegram.press(chatId, messageId, data, USER_CHAT);
    }
  }

  #notice(call: TelegramCall): void {
    if (!isNews(call)) return;
    this.#newsAt = Date.now();
    const chatId = Number(call.params.chat_id);
    if (call.messageId === undefined) return;
    const key = `${chatId}/${call.messageId}`;
    clearTimeout(this.#timers.get(key));
    this.#timers.set(
      key,
      setTimeout(() => this.#show(chatId, key), SETTLE_MS),
    );
  }

  #show(chatId: number, key: string): void {
    this.#timers.delete(key);
    const shown = this.#telegram.shown(chatId).find(({ messageId }) => key === `${chatId}/${messageId}`);
    if (shown === undefined) return;
    const buttons = buttonsOf(shown);
    const before = this.#printed.get(key);
    const now = JSON.stringify([shown.text, buttons.map(({ text }) => text)]);
    if (before === now) return;
    this.#printed.set(key, now);
    // That its buttons are gone is no news of a message that says the same.
    if (buttons.length === 0 && before !== undefined && JSON.parse(before)[0] === shown.text) return;
    const who = chatId === ALERT_CHAT ? 'alert' : chatId === USER_CHAT ? 'bot' : `chat ${chatId}`;
    const offered = buttons.map((button) => this.#offer({ chatId, messageId: shown.messageId, button }));
    this.#print(`${who}> ${shown.text}\n${offered.length === 0 ? '' : `     ${offered.join('  ')}\n`}`);
  }

  /** A button as it is printed, with its number where it can be pressed. */
  #offer(offered: Offered): string {
    const { text, callback_data: data } = offered.button;
    if (data === undefined) return text;
    const isSame = (other: Offered) =>
      other.chatId === offered.chatId && other.messageId === offered.messageId && other.button.callback_data === data;
    const at = this.#offered.findIndex(isSame);
    if (at < 0) this.#offered.push(offered);
    return `[${at < 0 ? this.#offered.length : at + 1}] ${text}`;
  }

  /** Resolves once nothing has happened for two seconds: no call at work, no news from the bot. */
  quiet(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        const leftMs = this.#newsAt + QUIET_MS - Date.now();
        if (leftMs <= 0 && this.#claude.inFlight() === 0 && this.#timers.size === 0) resolve();
        else setTimeout(look, Math.max(leftMs, 50));
      };
      look();
    });
  }

  /** Prints nothing any more. */
  end(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}

/** The buttons under a message. */
function buttonsOf({ replyMarkup }: ShownMessage): InlineButton[] {
  const { inline_keyboard: rows = [] } = (replyMarkup ?? {}) as { inline_keyboard?: InlineButton[][] };
  return rows.flat();
}
