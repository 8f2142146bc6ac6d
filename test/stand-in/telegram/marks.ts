/** The entities that the server finds in what people write. */
import type { Entity } from './entities.ts';

const COMMAND = /(?<![\w/<>])\/\w{1,64}(?:@\w{3,32})?(?![\w/<>])/g;
const MENTION = /(?<!\w)@\w{4,32}(?!\w)/g;

/** Commands and mentions of a text, in the order of their places. */
export function marksIn(text: string): Entity[] {
  const found = (type: string, pattern: RegExp): Entity[] =>
    [...text.matchAll(pattern)].map(({ 0: match, index }) => ({ type, offset: index, length: match.length }));
  return [...found('bot_command', COMMAND), ...found('mention', MENTION)].sort((a, b) => a.offset - b.offset);
}

/** The entity of somebody who has no name to mention: each place where `words` stand in the text. */
export function textMentions(text: string, words: string, user: { id: number; [more: string]: unknown }): Entity[] {
  const full = { is_bot: false, first_name: words, ...user };
  const places: Entity[] = [];
  for (let at = text.indexOf(words); words !== '' && at >= 0; at = text.indexOf(words, at + words.length)) {
    places.push({ type: 'text_mention', offset: at, length: words.length, user: full });
  }
  return places;
}

/** The fields that hold the entities of a message: those that a test gives, and those that the server finds elsewhere. */
export function markedFields(message: Record<string, unknown>): Record<string, unknown> {
  return { ...marked(message, 'text', 'entities'), ...marked(message, 'caption', 'caption_entities') };
}

function marked(message: Record<string, unknown>, textName: string, name: string): Record<string, unknown> {
  const text = message[textName];
  if (typeof text !== 'string') return {};
  const given = (message[name] ?? []) as Entity[];
  const isFree = (mark: Entity) =>
    !given.some((other) => mark.offset < other.offset + other.length && other.offset < mark.offset + mark.length);
  const all = [...given, ...marksIn(text).filter(isFree)].sort((a, b) => a.offset - b.offset);
  return all.length === 0 ? {} : { [name]: all };
}
