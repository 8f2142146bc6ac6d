import { html } from 'hono/html';
import type { RecoveryStep } from '../../report/recoveries.ts';
import type { Html } from './layout.ts';
import { ago, chatLink, messageLink, nothing, table } from './parts.ts';

/** What was done to requests that did not fit or were refused, newest first. Pure. */
export function recoveriesPage(steps: readonly RecoveryStep[], nowMs: number): Html {
  const rows = steps.map(({ atMs, chat, entry, event, details }) => [
    ago(atMs, nowMs),
    event,
    details,
    chatLink(chat),
    messageLink(entry),
  ]);
  return html`<h1>Recoveries</h1>
<p>What was done to requests that did not fit or were refused.</p>
${rows.length === 0 ? nothing('None is recorded.') : table(['When', 'Step', 'Details', 'Chat', 'Message'], rows)}`;
}
