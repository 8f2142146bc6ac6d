import { classify } from '../errors/classify.ts';
import type { Failure } from '../errors/failure.ts';

/**
 * A page or plain JSON instead of a stream: an error that came with a 200, or the wrong server. The text is classified
 * only where it is shaped like an error, since a message holds what people and models wrote.
 */
export function classifyForeign(body: string): Failure {
  const failure = isErrorBody(body) ? classify(JSON.parse(body)) : undefined;
  return failure === undefined || failure.reason === 'unknown'
    ? { kind: 'transient', reason: 'server_error' }
    : failure;
}

function isErrorBody(body: string): boolean {
  try {
    const { error, detail, message, content, choices } = JSON.parse(body);
    const isWorded = error !== undefined || typeof detail === 'string' || typeof message === 'string';
    return isWorded && content === undefined && choices === undefined;
  } catch {
    return false;
  }
}
