import { buttonsOf } from '../../fixture/buttons.ts';
import type { ShownMessage } from '../../stand-in/telegram/chats.ts';
import type { InlineButton } from '../../stand-in/telegram/markup.ts';
import type { TelegramCall, TelegramStandIn } from '../../stand-in/telegram/server.ts';
import { ALERT_CHAT, GROUP, PRIVATE_CHAT, STRANGERS_CHAT } from './people.ts';

/** A message is printed once it has stood unchanged for so long: while it streams, it changes every second. */
const SETTLE_MS = 300;
const SPEAKERS = new Map([
  [PRIVATE_CHAT, 'bot'],
  [GROUP, 'bot in the group'],
  [ALERT_CHAT, 'alert'],
  [STRANGERS_CHAT, 'bot to Dora'],
]);

/** A button that was printed. */
export interface PrintedButton {
  readonly chatId: number;
  readonly messageId: number;
  readonly label: string;
  readonly data: string;
}

/** Prints what the bot shows in its chats, with a number before each button. */
export class Screen {
  readonly #telegram: TelegramStandIn;
  readonly #print: (text: string) => void;
  readonly #printed = new Map<string, { text: string; labels: string }>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** A button keeps its number, which is its place here plus one. */
  readonly #buttons: PrintedButton[] = [];
  /** When the bot last called Telegram, apart from polling. */
  lastCallAt = Date.now();

  constructor(telegram: TelegramStandIn, print: (text: string) => void) {
    this.#telegram = telegram;
    this.#print = print;
    telegram.onAnswer((call) => this.#notice(call));
  }

  /** Whether a message that has changed is still to be printed. */
  get isPrinting(): boolean {
    return this.#timers.size > 0;
  }

  /** The button with that number; undefined where it cannot be pressed any more. */
  button(number: number): PrintedButton | undefined {
    const printed = this.#buttons[number - 1];
    if (printed === undefined) return undefined;
    const message = this.#telegram.shown(printed.chatId).find(({ messageId }) => messageId === printed.messageId);
    return buttonsOf(message).some((button) => button.callback_data === printed.data) ? printed : undefined;
  }

  /** Prints nothing any more. */
  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #notice({ method, params, messageId }: TelegramCall): void {
    if (method.toLowerCase() === 'getupdates') return;
    this.lastCallAt = Date.now();
    if (messageId === undefined) return;
    const chatId = Number(params.chat_id);
    const key = `${chatId}/${messageId}`;
    clearTimeout(this.#timers.get(key));
    this.#timers.set(
      key,
      setTimeout(() => {
        this.#timers.delete(key);
        this.#show(chatId, messageId);
      }, SETTLE_MS),
    );
  }

  #show(chatId: number, messageId: number): void {
    const message = this.#telegram.shown(chatId).find((shown) => shown.messageId === messageId);
    if (message === undefined) return;
    const key = `${chatId}/${messageId}`;
    const buttons = buttonsOf(message);
    const labels = JSON.stringify(buttons.map(({ text }) => text));
    const text = textOf(message);
    const previous = this.#printed.get(key);
    this.#printed.set(key, { text, labels });
    // A message that only loses its buttons is not printed again.
    if (previous?.text === text && (previous.labels === labels || buttons.length === 0)) return;
    const row = buttons.map((button) => this.#numbered(chatId, messageId, button)).join('  ');
    this.#print(`${SPEAKERS.get(chatId) ?? `chat ${chatId}`}> ${text}\n${row === '' ? '' : `     ${row}\n`}`);
  }

  /** A button as it is printed; a link has no number. */
  #numbered(chatId: number, messageId: number, { text: label, callback_data: data }: InlineButton): string {
    if (data === undefined) return label;
    const isSame = (other: PrintedButton) =>
      other.chatId === chatId && other.messageId === messageId && other.data === data;
    const index = this.#buttons.findIndex(isSame);
    if (index < 0) this.#buttons.push({ chatId, messageId, label, data });
    return `[${index < 0 ? this.#buttons.length : index + 1}] ${label}`;
  }
}

function textOf({ text, document, photo, audio }: ShownMessage): string {
  const file = document ?? audio;
  const attachment = file ? `(file ${file.name}, ${file.bytes} bytes)` : photo ? '(a picture)' : '';
  return [attachment, text].filter((each) => each !== '').join(' ');
}
