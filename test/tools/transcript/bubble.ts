import type { ShownMessage } from '../../stand-in/telegram/chats.ts';
import type { DraftState } from '../../stand-in/telegram/drafts.ts';
import type { Entity } from '../../stand-in/telegram/entities.ts';
import type { Keyboard } from '../../stand-in/telegram/markup.ts';
import type { RichBlock } from '../../stand-in/telegram/rich-message.ts';
import { formattedText } from './entities.ts';
import { type Html, html } from './html.ts';
import { keyboard } from './keyboard.ts';
import { richBlocks } from './rich.ts';
import type { Line } from './story.ts';

/** The words of another message, for what answers it. */
export type WordsOf = (messageId: number) => { author: string; words: string } | undefined;

interface Said {
  text?: string;
  entities?: Entity[];
  caption?: string;
  caption_entities?: Entity[];
  rich_message?: { blocks: RichBlock[] };
  from?: { first_name?: unknown };
  chat?: { type?: unknown };
  reply_to_message?: { message_id?: unknown; forum_topic_created?: unknown };
  quote?: { text?: unknown };
  forward_origin?: { sender_user?: { first_name?: unknown }; sender_user_name?: unknown; chat?: { title?: unknown } };
  document?: { file_name?: unknown };
}

const ATTACHED = 'photo document voice audio video video_note animation sticker location venue contact poll dice'.split(
  ' ',
);
const QUOTED_CHARS = 90;
const PUSH_CHARS = 140;
const STATES_SHOWN = 4;

/** One line of a chat. Pure. */
export function bubble(line: Line, wordsOf: WordsOf): Html {
  if (line.kind === 'press') return html`<p class="event">pressed <b>${line.label}</b></p>`;
  if (line.kind === 'draft') return draftBubble(line.states);
  return line.kind === 'user' ? userBubble(line, wordsOf) : botBubble(line, wordsOf);
}

function userBubble({ message, isHeard, isDeleted }: Line & { kind: 'user' }, wordsOf: WordsOf): Html {
  const said = message as Said;
  const isPrivate = said.chat?.type === 'private';
  const name = isPrivate ? undefined : html`<p class="author"><bdi>${String(said.from?.first_name ?? '')}</bdi></p>`;
  const forwarded = forwardedFrom(said);
  const attached = ATTACHED.filter((kind) => message[kind] !== undefined);
  const note = [isHeard ? [] : ['not seen by the bot'], isDeleted ? ['deleted'] : []].flat().join(' · ');
  return html`<div class="row user"><div class="bubble${isDeleted ? ' gone' : ''}" dir="auto">
${name}${forwarded && html`<p class="forwarded">Forwarded from ${forwarded}</p>`}${answered(repliedTo(said), wordsOf, said.quote?.text)}
${attached.map((kind) => html`<p class="file">${kind.replace('_', ' ')} ${String(said.document?.file_name ?? '')}</p>`)}
<div class="text">${contentOf(said.text ?? said.caption ?? '', said.entities ?? said.caption_entities, said.rich_message?.blocks)}</div>
</div>${note === '' ? undefined : html`<p class="fate">${note}</p>`}</div>`;
}

/** The first message of a topic is no message that somebody answers. */
function repliedTo({ reply_to_message: replied }: Said): number | undefined {
  const isAnswer = replied !== undefined && replied.forum_topic_created === undefined;
  return isAnswer ? Number(replied.message_id) : undefined;
}

function forwardedFrom({ forward_origin: origin }: Said): string | undefined {
  if (origin === undefined) return undefined;
  return String(origin.sender_user?.first_name ?? origin.sender_user_name ?? origin.chat?.title ?? 'somebody');
}

function botBubble({ versions, isDeleted }: Line & { kind: 'bot' }, wordsOf: WordsOf): Html {
  const now = versions.at(-1);
  if (now === undefined) return html``;
  const before = versions.slice(0, -1).filter((each, at) => !isSame(each, versions[at + 1]));
  const earlier =
    before.length > 0
      ? html`<details class="earlier"><summary>edited; as it was before</summary>${before.map((each) => html`<div class="text">${shown(each)}</div>`)}</details>`
      : undefined;
  return html`<div class="row bot"><div class="bubble${isDeleted ? ' gone' : ''}" dir="auto">
${answered(now.replyTo, wordsOf)}${fileOf(now)}
<div class="text">${shown(now)}</div>${earlier}
</div>${buttonsOf(now.replyMarkup) ?? buttonsBefore(versions)}${fateOf(versions[0]?.notified, isDeleted)}</div>`;
}

/** Whether people read the same in both: only the buttons changed. */
function isSame(one: ShownMessage, other: ShownMessage | undefined): boolean {
  return (
    JSON.stringify([one.text, one.entities, one.rich]) === JSON.stringify([other?.text, other?.entities, other?.rich])
  );
}

/** The buttons that a message had, and that are gone now. */
function buttonsBefore(versions: readonly ShownMessage[]): Html | undefined {
  const had = buttonsOf(versions.findLast(({ replyMarkup }) => replyMarkup !== undefined)?.replyMarkup);
  return had && html`<div class="used">${had}</div>`;
}

function fileOf({ document, photo, audio }: ShownMessage): Html | undefined {
  if (photo) return html`<p class="file">🖼 ${photo.width} × ${photo.height} <small>${photo.bytes} bytes</small></p>`;
  const file = document ?? audio;
  return file && html`<p class="file">${document ? '📄' : '🎵'} ${file.name} <small>${file.bytes} bytes</small></p>`;
}

function shown({ text, entities, rich }: ShownMessage): Html {
  return contentOf(text, entities, rich);
}

function contentOf(
  text: string,
  entities: readonly Entity[] | undefined,
  rich: readonly RichBlock[] | undefined,
): Html {
  return rich === undefined ? formattedText(text, entities) : html`<div class="blocks">${richBlocks(rich)}</div>`;
}

/** What the person's phone did when it came. */
function fateOf(notified: string | undefined, isDeleted: boolean): Html {
  const gone = isDeleted ? html`<b>deleted</b> · ` : undefined;
  if (notified === undefined) return html`<p class="fate">${gone}🔕 arrived in silence</p>`;
  const words = notified.replace(/\s+/g, ' ');
  const push = words.length > PUSH_CHARS ? `${words.slice(0, PUSH_CHARS).toWellFormed()}…` : words;
  return html`<p class="fate">${gone}🔔 <span dir="auto">${push}</span></p>`;
}

function answered(messageId: number | undefined, wordsOf: WordsOf, quote?: unknown): Html | undefined {
  if (messageId === undefined) return undefined;
  const found = wordsOf(messageId);
  const words =
    typeof quote === 'string' ? `“${quote}”` : (found?.words ?? 'a message that is gone').slice(0, QUOTED_CHARS);
  return html`<div class="answers"><b>${found?.author ?? ''}</b><br>${words.toWellFormed()}</div>`;
}

function buttonsOf(markup: Keyboard | undefined): Html | undefined {
  return markup && keyboard(markup.inline_keyboard);
}

function draftBubble(states: readonly DraftState[]): Html {
  const last = states.at(-1);
  if (last === undefined) return html``;
  const step = Math.max(1, Math.floor(states.length / STATES_SHOWN));
  const some = states.filter((_, at) => at % step === 0).slice(0, STATES_SHOWN);
  const hadButton = states.some(({ canStop }) => canStop);
  return html`<div class="row bot"><details class="bubble draft" dir="auto"><summary>Preview while it was written (${states.length} states)</summary>
${some.map(({ text, entities, rich }) => html`<div class="text">${contentOf(text, entities, rich)}</div>`)}</details>
${hadButton ? keyboard([[{ text: '⏹ Stop' }]]) : undefined}</div>`;
}
