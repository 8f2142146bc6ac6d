import { field } from './field.ts';
import { isSpoken } from './overflow-patterns.ts';

/** The status that an error states in a field of its own. */
export function statusOf(part: unknown): number | undefined {
  for (const key of ['status', 'statusCode', 'status_code', 'httpStatus', 'httpStatusCode', 'code']) {
    const value = field(part, key);
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && status >= 400 && status <= 599) return status;
  }
  return undefined;
}

const NOT_A_COUNT =
  '(?![.,]?\\d|[a-z]| ?(?:tokens?|messages?|char|words|px|pixels|mb|kb|bytes|pages|images|ms|sec|requests|days|%))';
const LEADING_STATUS = new RegExp(
  `^[^a-z0-9]{0,3}(?:[a-z /.:()[\\]]{0,60}?\\b(?:error|exception|https?|status|code|failed|failure|post|response|returned|upstream|api)\\b(?:/[\\d.]{1,3})?[^a-z0-9]{0,5})?([45]\\d\\d)${NOT_A_COUNT}`,
);
const NAMED_STATUS = new RegExp(`\\b(?:https?(?:/[\\d.]{1,3})?|status|code)[:= (]{1,4}([45]\\d\\d)${NOT_A_COUNT}`);

/** A status that the text leads with or names as such; a bare number elsewhere is a count or a part of an id. */
export function statusInText(plain: string): number | undefined {
  const found = LEADING_STATUS.exec(plain) ?? (isSpoken(plain) ? null : NAMED_STATUS.exec(plain));
  return found?.[1] === undefined ? undefined : Number(found[1]);
}

/** Whether a status says that the server failed, and not the request. */
export function isServerStatus(status: number | undefined): boolean {
  return status !== undefined && status >= 500;
}
