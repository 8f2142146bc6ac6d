import type { MessageEntity } from '@grammyjs/types';
import { clip } from '../../shared/base/text.ts';
import type { Button, SendOptions } from '../../shared/telegram/messages.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { AskedCall, Asking } from '../tools/asking.ts';
import { MESSAGE_CHARS_MAX } from './split.ts';

/** The messages that show a question, in order; the buttons are under the last. */
export type Shown = readonly ({ text: string } & SendOptions)[];

interface Part {
  text: string;
  entities: MessageEntity[];
}

/** What a person reads of one call; Telegram takes 4096 in a message. */
const INPUT_CHARS_MAX = 3_500;
/** Characters that would show something else than what is called. */
const UNSEEN = /[[\p{Cc}\p{Cf}]--[\n\t]]/gv;

/** A question with its buttons, as it is asked in the chat. Pure. */
export function asked({ entry, texts, message }: Attempt, asking: Asking): Shown {
  const press = (word: string) => `/decide ${entry} ${asking.id} ${word}`;
  const replyTo = message.ok ? message.value.messageId : undefined;
  const parts = asking.kind === 'approval' ? approvalParts(texts, asking.calls) : [{ text: asking.question }];
  const buttons =
    asking.kind === 'approval' ? approvalButtons(texts, asking.calls, press) : choiceButtons(texts, asking, press);
  return parts.map((part, at) => ({ ...part, replyTo, ...(at === parts.length - 1 && { buttons }) }));
}

function approvalButtons(
  { approval }: Texts,
  calls: readonly AskedCall[],
  press: (word: string) => string,
): readonly (readonly Button[])[] {
  const once = { text: approval.once, command: press('once') };
  const always = { text: approval.always, command: press('always') };
  return [
    calls.some(({ mayBecomeUsual }) => mayBecomeUsual) ? [once, always] : [once],
    [{ text: approval.decline, command: press('no'), destroys: true }],
  ];
}

function choiceButtons(
  { approval }: Texts,
  { choices }: Extract<Asking, { kind: 'question' }>,
  press: (word: string) => string,
): readonly (readonly Button[])[] {
  const rows = choices.map((text, at) => [{ text, command: press(String(at)) }]);
  return [...rows, [{ text: approval.skip, command: press('no') }]];
}

/** Each call with its name and its whole input, folded; as many in a message as fit. */
function approvalParts({ approval }: Texts, calls: readonly AskedCall[]): Part[] {
  const parts: Part[] = [{ text: approval.title(calls.length), entities: [] }];
  for (const { name, input } of calls) {
    const head = `\n\n${name}\n`;
    const words = inputInWords(approval, input);
    const last = parts.at(-1);
    const isFull = last === undefined || last.text.length + head.length + words.length > MESSAGE_CHARS_MAX;
    const part: Part = isFull ? { text: approval.more, entities: [] } : last;
    if (isFull) parts.push(part);
    const offset = part.text.length + head.length;
    part.entities.push({ type: 'bold', offset: offset - name.length - 1, length: name.length });
    if (words !== '') part.entities.push({ type: 'expandable_blockquote', offset, length: words.length });
    part.text += head + words;
  }
  return parts;
}

function inputInWords({ clipped }: Texts['approval'], input: AskedCall['input']): string {
  const lines = Object.entries(input).map(([name, value]) => `${name}: ${inWords(value)}`);
  const whole = lines.join('\n').toWellFormed().replaceAll(UNSEEN, '\u{fffd}').trim();
  if (whole.length <= INPUT_CHARS_MAX) return whole;
  return `${clip(whole, INPUT_CHARS_MAX)}\n${clipped(whole.length - INPUT_CHARS_MAX)}`;
}

function inWords(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
