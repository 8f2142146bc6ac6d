import { graphemePrefix } from '../../shared/base/text.ts';

/** A message as Telegram delivers it, as far as we read it. Nothing of it is checked yet. */
export interface RawMessage {
  message_id?: unknown;
  message_thread_id?: unknown;
  is_topic_message?: unknown;
  date?: unknown;
  edit_date?: unknown;
  text?: unknown;
  entities?: unknown;
  caption?: unknown;
  caption_entities?: unknown;
  photo?: unknown;
  document?: unknown;
  sender_chat?: unknown;
  media_group_id?: unknown;
  reply_to_message?: unknown;
  external_reply?: unknown;
  quote?: unknown;
  forward_origin?: unknown;
  rich_message?: unknown;
  from?: { id?: unknown; is_bot?: unknown; first_name?: unknown; language_code?: unknown };
  chat?: { id?: unknown; type?: unknown; title?: unknown };
}

/** No endpoint accepts a request body with lone surrogates or NUL. */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

export function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

const LINE_CHARS = 300;

/** A text on one line, of a bounded length; empty for anything else. */
export function lineOf(value: unknown): string {
  if (typeof value !== 'string') return '';
  return graphemePrefix(
    wellFormed(value)
      .replace(/[\s\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ')
      .trim(),
    LINE_CHARS,
  );
}
