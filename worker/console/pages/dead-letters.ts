import { html } from 'hono/html';
import { msOf } from '../../../shared/redis/stream-id.ts';
import type { DeadLetter } from '../../report/dead-letters.ts';
import { counted } from '../../report/words.ts';
import { formKeyField, HOME, type Html } from './layout.ts';
import { ago, chatLink, messageLink, more, nothing, table } from './parts.ts';

/** What came of putting a letter back, as the page after it is asked to say. */
export type ReplayNews = 'replayed' | 'gone' | 'chatless' | 'unfinished';

const NEWS: Readonly<Record<ReplayNews, string>> = {
  replayed: 'It is back at the end of its lane, and is answered once.',
  gone: 'It was put back or removed already: nothing was done.',
  chatless: 'It names no chat, so nobody can be answered: it stays.',
  unfinished: 'A piece of it is still being put aside: try again in a moment.',
};

/** The letters that are shown, newest first, of so many; and what was just done. */
export interface LettersView {
  letters: readonly DeadLetter[];
  total: number;
  nowMs: number;
  formKey: string;
  chat?: string | undefined;
  news?: string | undefined;
}

/** The messages that failed and are kept, each with a button that puts it back. Pure. */
export function deadLettersPage({ letters, total, nowMs, formKey, chat, news }: LettersView): Html {
  const rows = letters.map(({ id, name, entry, record }) => [
    messageLink(entry),
    chatLink(record.chat ?? ''),
    record.reason ?? 'no reason',
    ago(msOf(id), nowMs),
    replayForm(name, formKey),
  ]);
  return html`<h1>Dead letters</h1>
${isNews(news) ? html`<p class="done" role="status">${NEWS[news]}</p>` : ''}
<p>${counted(total, 'message')} failed${chat === undefined ? '' : html` in chat ${chatLink(chat)}`}; their users were notified.</p>
${rows.length === 0 ? nothing('None is kept.') : table(['Message', 'Chat', 'Reason', 'Failed', 'Action'], rows)}
${more(total - letters.length, 'letter')}`;
}

/** The button that puts a letter back at the end of its lane. Pure. */
export function replayForm(name: string, formKey: string): Html {
  return html`<form class="actions" method="post" action="${HOME}/dead/replay">${formKeyField(formKey)}
<input type="hidden" name="letter" value="${name}"><button>Put back</button></form>`;
}

function isNews(text: string | undefined): text is ReplayNews {
  return text !== undefined && Object.hasOwn(NEWS, text);
}
