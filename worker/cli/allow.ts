import { readAllowed } from '../../shared/state/chat/allowed.ts';
import { allow as allowAt } from '../operator/allow.ts';
import { allowedSection } from '../report/status.ts';
import { UsageError } from './terminal.ts';
import { type Call, type Ground, withRedis } from './verb.ts';

/** Lets somebody in or out, or prints who is in; the exit code is 1 when there was nothing to take back. */
export async function allow(call: Call): Promise<number> {
  const { attribution, options, terminal, words } = call;
  const isIn = options.remove === undefined;
  const [id] = words;
  if (!isIn && id === undefined) throw new UsageError(`--remove needs an id.\n\n${call.help}`);
  return withRedis(terminal, async (at) => {
    if (id === undefined) return list(call, at);
    const base = at.config.TELEGRAM_ALLOWED_IDS;
    const isSet = base === 'everyone' || base.has(Number(id));
    const isDone = !(isIn && isSet) && (await allowAt(at, id, isIn, attribution));
    call.print({ id: Number(id), isIn, isSet, isDone }, () => `${id} ${saidOf({ isIn, isSet, isDone })}.`);
    return isIn || (isDone && !isSet) ? 0 : 1;
  });
}

function saidOf({ isIn, isSet, isDone }: Readonly<Record<'isIn' | 'isSet' | 'isDone', boolean>>): string {
  if (isSet && isIn) return 'is allowed by TELEGRAM_ALLOWED_IDS already';
  if (isSet) return 'stays allowed by TELEGRAM_ALLOWED_IDS: take it off there, and start the gateway again';
  if (isIn)
    return isDone ? 'is allowed within a second; what was written before is not answered' : 'was allowed already';
  return isDone ? 'is ignored within a second' : 'was not added; "npm run cli -- allow" names who was';
}

async function list(call: Call, { redis, config: { TELEGRAM_ALLOWED_IDS: base } }: Ground): Promise<number> {
  const added = await readAllowed(redis);
  const set = base === 'everyone' ? ['*'] : [...base].map(String);
  call.print({ set, added }, () => ({
    nowMs: Date.now(),
    sections: [
      { facts: [{ name: 'TELEGRAM_ALLOWED_IDS', value: set.join(', ') || 'not set here' }] },
      allowedSection(added),
    ],
  }));
  return 0;
}
