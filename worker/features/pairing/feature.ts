import { changesToLeave } from '../../../shared/state/pairing/strangers.ts';
import { type CommandHandler, replied } from '../../command/command.ts';
import type { Feature } from '../../feature.ts';

/**
 * `/pair <code>`, which the producer stores in place of a stranger's message: sends the code to the stranger. The operators'
 * alert does not depend on this reply, because the watchdog finds the request in Redis.
 */
const pair: CommandHandler = async ({ turn, argument }) =>
  replied('pair', turn.texts.pairing(argument), { changes: await changesToLeave(turn.env.redis, turn) });

/** Lets strangers ask the operators for access (`PAIRING`). */
export const pairingFeature: Feature = { name: 'pairing', commands: { pair } };
