import { FencedError } from '../lane/attempt.ts';

/** What ioredis throws when it could not ask: its own errors, and those of sockets. */
const UNASKED = /^(?:AbortError|MaxRetriesPerRequestError|ClusterAllFailedError)$/;
const CLOSED = /^(?:Connection is closed|Stream isn't writeable|Socket closed|Command timed out)/i;
/** Replies that say what is wrong with a command or a value: they come again however often it is sent. */
const LASTING = /^(?:WRONGTYPE|ERR|CROSSSLOT)\b/;
/** A script's own failure may hide a state of the server. */
const PASSING = /\b(?:OOM|MISCONF|READONLY|LOADING|BUSY|NOREPLICAS|TRYAGAIN|CLUSTERDOWN|MASTERDOWN)\b/;

/**
 * Whether a throw says nothing of the message that was under way: Redis is away or takes nothing just now, or another
 * attempt took over. Any other is a bug of ours or a value that nobody can use, and comes again with the message.
 */
export function isNobodysFault(error: unknown): boolean {
  if (error instanceof FencedError) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === 'ReplyError') return !LASTING.test(error.message) || PASSING.test(error.message);
  return UNASKED.test(error.name) || CLOSED.test(error.message) || 'syscall' in error;
}
