import { msOf } from '../../shared/redis/stream-id.ts';
import type { DeadLetter } from '../report/dead-letters.ts';
import { inWords } from '../report/words.ts';

/** A letter as JSON shows it. */
export function aboutOf({ name, id, record }: DeadLetter) {
  return { ...record, id: name, at: new Date(msOf(id)).toISOString(), ageSeconds: ageSecondsOf(id) };
}

/** A letter in a line. */
export function lineOf({ name, id, entry, record }: DeadLetter): string {
  const { chat = 'no chat', reason = 'no reason', traceId = '' } = record;
  const at = `${new Date(msOf(id)).toISOString()} (${inWords(ageSecondsOf(id) * 1000)} ago)`;
  return `${name}  ${at}  chat ${chat}  ${reason}  entry ${entry || 'none'}  trace ${traceId || 'none'}`;
}

/** Redis makes the ids by its own clock, which may be ahead of ours. */
function ageSecondsOf(id: string): number {
  return Math.max(0, Math.round((Date.now() - msOf(id)) / 1000));
}
