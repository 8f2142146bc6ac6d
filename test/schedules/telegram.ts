import type { Telegram } from '../../shared/telegram/client.ts';
import { failed } from '../../shared/telegram/failure.ts';
import { instantTelegram } from '../tools/bench/instant.ts';
import type { Process } from './process.ts';

/** A message as its chat shows it. */
export interface Shown {
  readonly chatId: number;
  readonly id: number;
  text: string;
  /** What its buttons say to the gateway. */
  readonly buttons: readonly string[];
}

/** A text on its way to a chat. */
export interface Send {
  /** The process that sends it. */
  readonly by: string;
  readonly chatId: number;
  readonly text: string;
  /** Whether its result is lost. */
  isUnknown: boolean;
}

/**
 * What somebody does in a chat: asks, requests something that the model has to ask back for, forwards a question, edits
 * one, wants the message before answered again, lists the conversations, or gives a command that cancels what waits.
 */
export interface Written {
  readonly kind: 'question' | 'request' | 'forward' | 'edit' | 'again' | 'list' | 'stop' | 'new';
  readonly updateId: number;
  readonly chatId: number;
  /** The name of its chat, `A` or `B`: ids differ from run to run. */
  readonly chat: string;
  /** Which of its chat's messages it is, from 1; an edit has the number of the question that it edits. */
  readonly number: number;
  /** The update that brought the message, which an edit has in common with its question. */
  readonly messageId: number;
}

/** A press of a button, which comes as an update behind all that is written. */
export interface Press extends Pick<Written, 'updateId' | 'chatId' | 'chat'> {
  readonly kind: 'press';
  readonly under: number;
  readonly data: string;
}

function unknown(send: Send) {
  send.isUnknown = true;
  return failed('unknown', 'the reply was lost');
}
const THROTTLED = () => failed('throttled', 'Too Many Requests');

/** Telegram, as far as schedules need it: it keeps updates until they are confirmed, and what its chats show. */
export class ChatHistory {
  readonly shown: Shown[] = [];
  /** Updates that nobody has confirmed yet, in order. */
  readonly unconfirmed: (Written | Press)[];
  readonly presses: Press[] = [];
  readonly #redelivered: (Written | Press)[] = [];
  readonly sends: Send[] = [];
  #confirmedBelow = 0;

  constructor(written: readonly Written[]) {
    this.unconfirmed = [...written];
  }

  /** Whether a poll would return, or confirm something. */
  hasNews(offset: number | undefined): boolean {
    return this.#redelivered.length > 0 || this.unconfirmed.length > 0 || (offset ?? 0) > this.#confirmedBelow;
  }

  /** What a poll returns. It confirms every update below its offset. */
  poll(offset: number | undefined): (Written | Press)[] {
    while (this.unconfirmed[0] !== undefined && this.unconfirmed[0].updateId < (offset ?? 0)) this.unconfirmed.shift();
    this.#confirmedBelow = Math.max(this.#confirmedBelow, offset ?? 0);
    return [...this.#redelivered.splice(0), ...this.unconfirmed];
  }

  /** An update that was confirmed comes once more. */
  redeliver(written: Written | Press): void {
    this.#redelivered.push(written);
  }

  /** Somebody presses a button. */
  press({ chatId, id }: Shown, data: string, updateId: number): void {
    const press = { kind: 'press', updateId, chatId, chat: 'A', under: id, data } as const;
    this.presses.push(press);
    this.unconfirmed.push(press);
  }

  send(chatId: number, text: string, buttons: readonly string[]): { messageId: number } {
    const id = this.shown.push({ chatId, id: this.shown.length + 1, text, buttons });
    return { messageId: id };
  }

  /** Notes that a text is about to be sent, or edited in. */
  note(by: string, chatId: number, text: string): Send {
    const send = { by, chatId, text, isUnknown: false };
    this.sends.push(send);
    return send;
  }

  edit(id: number, text: string): void {
    const found = this.shown[id - 1];
    if (found) found.text = text;
  }
}

/** The words of a message; those for the model tell which one it is. */
export function wordsOf({ kind, chat, number }: Pick<Written, 'kind' | 'chat' | 'number'>): string {
  if (isCommand({ kind }) || kind === 'again') return COMMANDS[kind] ?? `/${kind}`;
  if (kind === 'request') return `Question ${chat}-${number}? ${REQUEST}`;
  return kind === 'edit' ? `Question ${chat}-${number} anew?` : `Question ${chat}-${number}?`;
}

/** What the model has to ask back for. */
export const REQUEST = 'Do it.';

/** `/continue` without words lists the conversations. */
const COMMANDS: Partial<Record<Written['kind'], string>> = { again: '/retry', list: '/continue' };

/** Whether it is a command, to which the gateway itself replies. */
export function isCommand({ kind }: Pick<Written, 'kind'>): boolean {
  return kind === 'list' || cancels({ kind });
}

/** Whether it is a command that cancels what waits. */
export function cancels({ kind }: Pick<Written, 'kind'>): boolean {
  return kind === 'stop' || kind === 'new';
}

/** An update as a trace names it. */
export function nameOf(update: Written | Press): string {
  if (update.kind === 'press') return 'a press';
  const { kind, chat, number } = update;
  return kind === 'edit' ? `the edit of ${chat}-${number}` : `${chat}-${number}`;
}

const WRITTEN_S = 1_700_000_000;

function updateOf(written: Written | Press): object {
  const { chatId, updateId } = written;
  const from = { id: chatId, is_bot: false, first_name: 'A' };
  const chat = { id: chatId, type: 'private' };
  if (written.kind === 'press') {
    const message = { message_id: written.under, date: WRITTEN_S, chat };
    return { update_id: updateId, callback_query: { id: `${updateId}`, from, message, data: written.data } };
  }
  const { kind, messageId } = written;
  const message = { message_id: messageId, date: WRITTEN_S, chat, from, text: wordsOf(written) };
  if (kind === 'edit') return { update_id: updateId, edited_message: { ...message, edit_date: WRITTEN_S + 1 } };
  const origin = { type: 'hidden_user', sender_user_name: 'B', date: WRITTEN_S };
  return { update_id: updateId, message: kind === 'forward' ? { ...message, forward_origin: origin } : message };
}

/** Telegram, as one process reaches it. */
export function telegramOf(process: Process, history: ChatHistory): Telegram {
  return {
    ...instantTelegram(),
    getUpdates: (offset) =>
      process.effect({
        kind: 'telegram',
        words: 'getUpdates',
        isReady: () => history.hasNews(offset),
        apply: () => ({ ok: true, value: history.poll(offset).map(updateOf) }),
      }),
    sendMessage(to, text, { buttons = [] } = {}) {
      const commands = buttons.flat().flatMap((button) => ('command' in button ? [button.command] : []));
      const noted = history.note(process.name, to.chatId, text);
      return process.effect({
        kind: 'telegram',
        words: 'sendMessage',
        apply: () => ({ ok: true, value: history.send(to.chatId, text, commands) }),
        unknown: () => unknown(noted),
        refused: THROTTLED,
      });
    },
    editMessage(to, id, text) {
      const noted = history.note(process.name, to.chatId, text);
      return process.effect({
        kind: 'telegram',
        words: 'editMessage',
        apply() {
          history.edit(id, text);
          return { ok: true, value: undefined };
        },
        unknown: () => unknown(noted),
        refused: THROTTLED,
      });
    },
  };
}
