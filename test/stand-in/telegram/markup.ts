/** Keyboards under messages. */
import { z } from 'zod';
import { json, read } from './params.ts';

const DATA_BYTES_MAX = 64;

const NO_KIND = "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard";
const STYLE = z.enum(['primary', 'danger', 'success'], 'invalid button style specified');

const url = z.string().superRefine((link, context) => {
  const wrong = wrongLink(link);
  if (wrong !== undefined) context.addIssue(`inline keyboard button URL '${link}' is invalid: ${wrong}`);
});
const data = z.string().refine((sent) => Buffer.byteLength(sent) <= DATA_BYTES_MAX, 'BUTTON_DATA_INVALID');
const button = z
  .object({ text: z.string(), url: url.optional(), callback_data: data.optional(), style: STYLE.optional() })
  .refine((sent) => sent.text !== '', 'a button without a label')
  .refine((sent) => sent.url || sent.callback_data, NO_KIND);
/** An inline keyboard, which is the only kind that a gateway sends. */
const keyboard = z.object({ inline_keyboard: z.array(z.array(button)) });

/** One button of an inline keyboard. */
export type InlineButton = z.output<typeof button>;
export type Keyboard = z.output<typeof keyboard>;

/** Reads `reply_markup`. Undefined where there is none, or one without a button. */
export function readMarkup(sent: unknown): Keyboard | undefined {
  const markup = sent === undefined ? undefined : read(json(keyboard), sent, 'inline keyboard button');
  return markup?.inline_keyboard.flat().length ? markup : undefined;
}

/** Why the server takes a text for no link, in its words; undefined for a link. */
export function wrongLink(link: string): string | undefined {
  if (/^tg:\/\/[\w-]+(?:[/?#]|$)/i.test(link)) return undefined;
  const isWeb = /^https?:\/\//i.test(link);
  if (!isWeb && /^[^:/?#]*:\/\//.test(link)) return 'Unsupported URL protocol';
  const url = URL.parse(isWeb ? link : `http://${link}`);
  if (url === null || /\s/.test(link)) return 'Wrong port number or disallowed character in URL host';
  return /[^.]\.[^.]|:/.test(url.hostname) ? undefined : 'Wrong HTTP URL';
}
