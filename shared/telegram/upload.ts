import { jsonFields } from '../base/fields.ts';
import { failureOf, type TelegramResult, unknownAnswer } from './failure.ts';

/** A file in a form, under the name of its field. */
export interface FormFile {
  field: string;
  name: string;
  bytes: Buffer;
}

/**
 * Calls a method of the Bot API with files, as a form. Sends values other than texts as JSON, as the API expects. Does not use
 * Telegraf, whose form uploads never end on current versions of Node. Contract: never throws; a failure is a value.
 */
export async function upload(
  url: URL,
  fields: Readonly<Record<string, unknown>>,
  files: readonly FormFile[],
  timeoutMs: number,
): Promise<TelegramResult<unknown>> {
  const form = new FormData();
  for (const [key, value] of Object.entries(fields))
    form.set(key, typeof value === 'string' ? value : JSON.stringify(value));
  for (const { field, name, bytes } of files) form.set(field, new Blob([new Uint8Array(bytes)]), name);
  try {
    const response = await fetch(url, { method: 'POST', body: form, signal: AbortSignal.timeout(timeoutMs) });
    return resultOf(response.status, await response.text());
  } catch (error) {
    return { ok: false, failure: failureOf(connectionError(error), undefined) };
  }
}

/** An error of `fetch` in the shape of an error of the Bot API. `code` is that of a failed connection, or `none`. */
export function connectionError(error: unknown): { code: string; message: string } {
  const { message, cause } = error as { message?: string; cause?: { code?: unknown; message?: string } };
  const words = [message, cause?.message].filter(Boolean).join(': ');
  // The code of an abort is a number, which must not pass for an HTTP status.
  return { code: typeof cause?.code === 'string' ? cause.code : 'none', message: words };
}

/** The result in an answer. An answer that does not have the format of the API comes from a proxy, whatever its status. */
function resultOf(status: number, text: string): TelegramResult<unknown> {
  const body = jsonFields(text);
  if (body?.ok === true) return { ok: true, value: body.result };
  if (typeof body?.error_code === 'number')
    return { ok: false, failure: failureOf({ ...body, code: body.error_code }, undefined) };
  return { ok: false, failure: unknownAnswer(`an answer with status ${status} that is not Telegram's`) };
}
