import { FencedError } from '../lane/attempt.ts';

/** What ioredis throws when it could not send the command: its own errors, and socket errors. */
const UNASKED = /^(?:AbortError|MaxRetriesPerRequestError|ClusterAllFailedError)$/;
const CLOSED = /^(?:Connection is closed|Stream isn't writeable|Socket closed|Command timed out)/i;
/** Replies that fault the command or its value: repeating the command gives the same reply. */
const LASTING = /^(?:WRONGTYPE|ERR|CROSSSLOT)\b/;
/** A script's own failure may hide a state of the server. */
const PASSING = /\b(?:OOM|MISCONF|READONLY|LOADING|BUSY|NOREPLICAS|TRYAGAIN|CLUSTERDOWN|MASTERDOWN)\b/;

/**
 * Whether an error is unrelated to the message in progress: Redis is unavailable or takes no writes just now, or
 * another attempt took over. Any other error is a bug of ours or an unusable value, and returns with the message.
 */
export function isInfrastructureError(error: unknown): boolean {
  if (error instanceof FencedError) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === 'ReplyError') return !LASTING.test(error.message) || PASSING.test(error.message);
  return UNASKED.test(error.name) || CLOSED.test(error.message) || 'syscall' in error;
}
