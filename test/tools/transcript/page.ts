import { bubble, type WordsOf } from './bubble.ts';
import { Html, html } from './html.ts';
import type { PlayedChat, PlayedScene } from './scene.ts';
import { type Line, storyOf } from './story.ts';
import { STYLE } from './style.ts';

/** The whole page: it needs nothing besides itself, and no script. Pure. */
export function pageOf(scenes: readonly PlayedScene[]): string {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What a user of Spillway sees</title><style>${new Html(STYLE)}</style></head>
<body><main><h1>What a user of Spillway sees</h1>
<p class="about">Played through the real gateway, with stand-ins of Telegram and Claude. Below each message stands what a phone did: 🔔 with the words of its notification, or 🔕.</p>
<nav>${scenes.map(({ name, title }) => html`<a href="#${name}">${title}</a>`)}</nav>
${scenes.map(sceneOf)}
</main></body></html>
`;
  return page.source;
}

function sceneOf({ name, title, about, chats, failure }: PlayedScene): Html {
  return html`<section id="${name}"><h2>${title}</h2><p class="about">${about}</p>
${failure === undefined ? undefined : html`<p class="failed">This scene did not play as expected: ${failure}</p>`}
${chats.map(chatOf)}</section>
`;
}

function chatOf({ title, events, drafts }: PlayedChat): Html {
  const lines = storyOf(events, drafts);
  const wordsOf: WordsOf = (messageId) =>
    lines.map((line) => wordsIn(line, messageId)).find((found) => found !== undefined);
  return html`<h3><bdi>${title}</bdi></h3>${lines.map((line) => html`${topicOf(line)}${bubble(line, wordsOf)}\n`)}`;
}

function wordsIn(line: Line, messageId: number): ReturnType<WordsOf> {
  if (line.kind === 'user' && line.message.message_id === messageId) {
    const { from, text, caption } = line.message as {
      from?: { first_name?: unknown };
      text?: unknown;
      caption?: unknown;
    };
    return { author: String(from?.first_name ?? ''), words: String(text ?? caption ?? 'a file') };
  }
  const now = line.kind === 'bot' ? line.versions.at(-1) : undefined;
  return now?.messageId === messageId ? { author: 'Spillway', words: now.text } : undefined;
}

function topicOf(line: Line): Html | undefined {
  const topic =
    line.kind === 'user' ? line.message.message_thread_id : line.kind === 'bot' ? line.versions[0]?.topicId : undefined;
  return topic === undefined ? undefined : html`<p class="event">in topic ${String(topic)}</p>`;
}
