import { dereferenced } from './reference.ts';

const URL_CHARS_MAX = 2_000;
const INTERNAL = /^tg:\/\/[a-z0-9_-]+(?:[/?#]\S*)?$/i;
const WEB = /^https?:\/\/\S+$/i;

/**
 * The URL that Telegram takes as a link, or undefined. Telegram refuses the whole message for any other: a relative
 * one, an unknown scheme (`mailto:` too: an address stays text, which clients recognise), a host without a dot such as
 * `localhost`.
 */
export function linkUrl(href: string): string | undefined {
  const url = dereferenced(href).trim();
  if (url.length > URL_CHARS_MAX) return undefined;
  if (INTERNAL.test(url)) return url;
  if (!WEB.test(url) || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return /[^.]\.[^.]|:/.test(hostname) ? url : undefined;
}

/** The words after a text that cannot be a link: where it leads, unless that adds nothing. */
export function destinationOf(href: string, text: string): string {
  const place = dereferenced(href)
    .trim()
    .replace(/^mailto:/i, '');
  return place === '' || place === text.trim() || place.startsWith('#') ? '' : ` (${place})`;
}
