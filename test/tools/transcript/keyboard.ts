import { type Html, html } from './html.ts';

/** A button as a person sees it. */
export interface ShownButton {
  text: string;
  style?: string | undefined;
  url?: string | undefined;
  disabled?: object;
}

/** The buttons under a message, row by row. Pure. */
export function keyboard(rows: readonly (readonly ShownButton[])[]): Html {
  return html`<div class="keyboard">${rows.map((row) => html`<div>${row.map(button)}</div>`)}</div>`;
}

function button({ text, style = 'plain', url, disabled }: ShownButton): Html {
  const kind = disabled === undefined ? style : 'disabled';
  return html`<span class="button ${kind}">${text}${url === undefined ? '' : ' ↗'}</span>`;
}
