import { decodeMessage } from '../../shared/flow/message.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';
import { fieldOf } from './dead-letters.ts';
import type { MessageName } from './message-name.ts';
import type { ReportSource } from './source.ts';

/**
 * The words of a message that has no outcome yet, or whose dead letter is kept; `undefined` where they are no longer
 * stored with it. For operators who may read content: nobody else may call this. Contract: as at `ReportSource`.
 */
export async function readContent(
  { redis }: Pick<ReportSource, 'redis'>,
  { keys, entry }: Pick<MessageName, 'keys' | 'entry'>,
  letter: string | undefined,
): Promise<string | undefined> {
  const [inbound] = await redis.xrange(keys.inbound, entry, entry);
  if (inbound) return textOf(fieldsOf(inbound[1]).get('message'));
  if (letter === undefined) return undefined;
  const [dead] = await redis.xrange(keys.dead, letter, letter);
  return dead && textOf(fieldOf(dead, 'message'));
}

function textOf(stored: string | undefined): string | undefined {
  const decoded = decodeMessage(stored);
  return decoded.ok ? decoded.value.content.text : stored;
}
