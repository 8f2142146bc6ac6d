import { html } from 'hono/html';
import type { RollUp } from '../../report/roll-up.ts';
import { counted, money } from '../../report/words.ts';
import { HOME, type Html } from './layout.ts';
import { chatLink, nothing, section, table, tile, tiles } from './parts.ts';

/** The periods that can be chosen, in days. */
export const PERIODS = [1, 7, 30] as const;
export type Period = (typeof PERIODS)[number];

/** Tokens, cost and outcomes of the last days. Pure. */
export function costPage(rollUp: RollUp, days: Period): Html {
  const { outcomes, latencyMs, cost, topChats } = rollUp;
  return html`<h1>Tokens and cost, ${counted(days, 'day')}</h1>
<p class="actions">${PERIODS.map((each) => periodLink(each, each === days))}</p>
${tiles(
  tile('Cost', money(cost.dollars), unpriced(cost.unpricedModels)),
  tile(
    'Outcomes',
    outcomes.total,
    `${outcomes.byOutcome.answered ?? 0} answered, ${outcomes.byOutcome.failed ?? 0} failed`,
  ),
  tile('Answered in', seconds(latencyMs.p50), `median; 95 of 100 within ${seconds(latencyMs.p95)}`),
)}
${section('By purpose and model', spending(rollUp))}
${section('Dearest chats', topChats.length === 0 ? nothing('No call was made.') : dearest(topChats))}`;
}

function periodLink(days: Period, isCurrent: boolean): Html {
  const name = counted(days, 'day');
  return isCurrent ? html`<b>${name}</b>` : html`<a href="${HOME}/cost?days=${days}">${name}</a>`;
}

function unpriced(models: readonly string[]): string {
  return models.length === 0 ? 'at list prices, or your own' : `no price is known of ${models.join(', ')}`;
}

function spending({ tokens }: RollUp): Html {
  const rows = Object.entries(tokens).flatMap(([purpose, models]) =>
    Object.entries(models).map(([model, spent]) => [
      purpose,
      model,
      spent.calls,
      `${thousands(spent.inputTokens)} (${share(spent.cacheReadTokens, spent.inputTokens)} from cache)`,
      thousands(spent.outputTokens),
      spent.dollars === undefined ? 'no price' : money(spent.dollars),
    ]),
  );
  return rows.length === 0
    ? nothing('No call was made.')
    : table(['For', 'Model', 'Calls', 'Input', 'Output', 'Cost'], rows);
}

function dearest(chats: RollUp['topChats']): Html {
  return table(
    ['Chat', 'Messages', 'Calls', 'Tokens', 'Cost'],
    chats.map(({ chat, messages, calls, tokens, dollars }) => [
      chatLink(chat),
      messages,
      calls,
      thousands(tokens),
      money(dollars),
    ]),
  );
}

function share(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((part / whole) * 100)} %`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

function thousands(number: number): string {
  return number.toLocaleString('en-US');
}
