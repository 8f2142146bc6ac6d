import { isFields } from '../../shared/base/fields.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { lineOf, type RawMessage, wellFormed } from './raw-message.ts';
import { fileOf } from './read-file.ts';
import { inWords, mediaInWords } from './read-kinds.ts';
import { readRich } from './read-rich.ts';

type Fields = Record<string, unknown>;

const QUOTED_CHARS = 1_000;

/**
 * What a message refers to: the message that it answers with its picture or file, the words that it quotes, where it
 * was forwarded from. Pure.
 */
export function contextOf(message: RawMessage, botId: number): Pick<InboundMessage, 'answers' | 'forwardedFrom'> {
  const answers = answeredBy(message, botId);
  const origin = isFields(message.forward_origin) ? originOf(message.forward_origin) : undefined;
  return { ...(answers && { answers }), ...(origin !== undefined && { forwardedFrom: origin }) };
}

function answeredBy(message: RawMessage, botId: number): InboundMessage['answers'] {
  const replied = [message.reply_to_message, message.external_reply].find(isFields);
  // Each message of a topic is a reply to the service message that opened the topic.
  if (replied === undefined || 'forum_topic_created' in replied) return undefined;
  const quote = isFields(message.quote) ? written(message.quote.text) : '';
  const text = quote === '' ? said(replied) : quote;
  const file = fileOf(replied) ?? readRich(replied.rich_message).files[0];
  const from = isFields(replied.from) ? replied.from : undefined;
  const by =
    from?.id === botId
      ? undefined
      : (nameOf(from) ?? (isFields(replied.origin) ? originOf(replied.origin) : undefined));
  return {
    ...(by !== undefined && { by }),
    ...(from?.id === botId && { isOurs: true as const }),
    ...(quote !== '' && { isQuote: true as const }),
    text: graphemePrefix(text === '' ? '(no text)' : text, QUOTED_CHARS),
    ...(file && { file }),
  };
}

function said(replied: Fields): string {
  const { text, caption, rich_message: rich } = replied;
  const words = [written(text), written(caption), readRich(rich).text].find((each) => each !== '');
  return words ?? inWords(replied) ?? mediaInWords(replied) ?? '';
}

function written(text: unknown): string {
  return typeof text === 'string' ? wellFormed(text).trim() : '';
}

function nameOf(user: Fields | undefined): string | undefined {
  const name = lineOf(user?.first_name);
  return name === '' ? undefined : name;
}

/** Who wrote what was forwarded: a person, a person who hides, a chat, a channel. */
function originOf({ sender_user: user, sender_user_name: hidden, sender_chat: group, chat }: Fields): string {
  const place = [group, chat].find(isFields);
  return (
    nameOf(isFields(user) ? user : undefined) ??
    ([hidden, place?.title].map(lineOf).find((name) => name !== '') || 'somebody')
  );
}
