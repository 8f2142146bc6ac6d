import type { ClaudeStandIn } from './claude/server.ts';
import type { TelegramCall, TelegramStandIn } from './telegram/server.ts';

/** The chat that the terminal writes in, and the operator's chat. */
const USER_CHAT = 1001;
const ALERT_CHAT = 9001;

/** A message is printed once it has stood unchanged for so long: while it streams, it changes every second. */
const SETTLE_MS = 300;
const QUIET_MS = 2000;

/** Polling is no news: it goes on as long as the gateway lives. */
const isNews = ({ method }: TelegramCall): boolean => method.toLowerCase() !== 'getupdates';

/** A conversation with the bot in lines of text. */
export class Terminal {
  readonly #claude: ClaudeStandIn;
  readonly #telegram: TelegramStandIn;
  readonly #print: (text: string) => void;
  readonly #printed = new Map<string, string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #overflows = 0;
  #newsAt = Date.now();
  hasQuit = false;

  constructor(claude: ClaudeStandIn, telegram: TelegramStandIn, print: (text: string) => void) {
    this.#claude = claude;
    this.#telegram = telegram;
    this.#print = print;
    telegram.openChat(USER_CHAT);
    telegram.openChat(ALERT_CHAT);
    telegram.onAnswer((call) => this.#notice(call));
    claude.react((call) => {
      if (call.kind !== 'main' || this.#overflows === 0) return undefined;
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
      `Start the gateway in another terminal with:\n\n${lines.join('')}\nThen type a message (:quit ends).\n`,
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
    if (!Number.isInteger(amount) || amount < 0 || !['overflow', 'window'].includes(command)) {
      this.#print('  (commands are :overflow N, :window N and :quit)\n');
    } else if (command === 'overflow') {
      this.#overflows = amount;
      this.#print(`  (the next ${amount} main calls overflow)\n`);
    } else {
      this.#claude.windowTokens = amount;
      this.#print(`  (the window is ${amount} tokens)\n`);
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
    if (shown === undefined || this.#printed.get(key) === shown.text) return;
    this.#printed.set(key, shown.text);
    const who = chatId === ALERT_CHAT ? 'alert' : chatId === USER_CHAT ? 'bot' : `chat ${chatId}`;
    this.#print(`${who}> ${shown.text}\n`);
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
