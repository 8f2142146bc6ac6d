import { ACTS } from '../operator/acts.ts';
import { runHere } from './act.ts';
import { UsageError } from './terminal.ts';
import { type Call, show, withRedis } from './verb.ts';

/** Lets somebody in or out, or prints who is in; the exit code is 1 when there was nothing to take back. */
export async function allow(call: Call): Promise<number> {
  const { options, terminal, words } = call;
  const isIn = options.remove === undefined;
  const [id] = words;
  if (!isIn && id === undefined) throw new UsageError(`--remove needs an id.\n\n${call.help}`);
  if (id === undefined) return show('allow', call);
  return withRedis(terminal, async (ground) => {
    const base = ground.config.TELEGRAM_ALLOWED_IDS;
    const isSet = base === 'everyone' || base.has(Number(id));
    const result = await runHere(call, ground, isIn ? ACTS.allow : ACTS.disallow, { id, called: id, isSet });
    const isDone = result.kind === 'allowed' || result.kind === 'removed';
    call.print({ id: Number(id), isIn, isSet, isDone }, () => `${result.text}.`);
    return result.effect === 'failed' ? 1 : 0;
  });
}
