import type { MiddlewareHandler } from 'hono';
import type { VisitEnv } from './visit.ts';

/** Our pages run no script, load nothing but our style, and are shown in no frame. */
const PAGES = [
  "default-src 'none'",
  "style-src 'self'",
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Bull Board is a script of our own origin; it sets styles itself, and asks for a font elsewhere, which it does not get. */
export const BOARD_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': PAGES,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // With "no-referrer" a browser would hide the origin of our own forms from us.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Adds what every answer of the console says to a browser, errors included; a page may have said otherwise of itself. */
export const safeHeaders: MiddlewareHandler<VisitEnv> = async (visit, next) => {
  await next();
  const { headers } = visit.res;
  for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
};
