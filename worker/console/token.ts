import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** How long a login lasts. */
export const SESSION_MS = 12 * 3600_000;

/**
 * What is derived from the operator's token. Nothing is stored: a login outlives restarts, holds in every process of the
 * installation, and ends at once for all when the token is replaced.
 */
export interface Token {
  /** Compares in a time that reveals nothing about the token, not even its length. Pure. */
  isGiven(text: string): boolean;
  /** The cookie of a login at that time. Pure. */
  session(nowMs: number): string;
  /** Whether a cookie is of a login that still lasts. Pure. */
  isSession(cookie: string | undefined, nowMs: number): cookie is string;
  /** The key that the forms of a session carry, which no other site can know. Pure. */
  formKey(session: string): string;
  /** Whether a form is of this session. Pure. */
  isFormKey(session: string, given: string): boolean;
}

/** Derives sessions and form keys from a token. */
export function tokenOf(token: string): Token {
  const key = mac(token, 'spillway console');
  const sign = (expires: string) => mac(key, `session ${expires}`).toString('base64url');
  const formKey = (session: string) => mac(key, `form ${session}`).toString('base64url');
  return {
    isGiven: (text) => isSame(text, token),
    session(nowMs) {
      const expires = String(nowMs + SESSION_MS);
      return `${expires}.${sign(expires)}`;
    },
    isSession(cookie, nowMs): cookie is string {
      const [, expires = '', signature = ''] = /^(\d{1,15})\.([\w-]+)$/.exec(cookie ?? '') ?? [];
      return isSame(signature, sign(expires)) && Number(expires) > nowMs;
    },
    formKey,
    isFormKey: (session, given) => isSame(given, formKey(session)),
  };
}

function mac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function isSame(one: string, other: string): boolean {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digestOf(one), digestOf(other));
}
