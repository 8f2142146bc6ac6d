import { userInfo } from 'node:os';
import type { Order } from '../operator/trail.ts';
import { TEXT } from './options.ts';

/** The options of every verb that changes something. */
export const ORDER_OPTIONS = { by: TEXT, why: TEXT } as const;

/** What the help of such a verb says of them. */
export const ORDER_HELP =
  'Who did it and why is kept (see "actions"): --why TEXT, and --by NAME instead of the user of this machine.';

/** Who gives an order, and why. */
export function orderOf({ by, why }: { by?: unknown; why?: unknown }): Order {
  return { by: typeof by === 'string' && by !== '' ? by : userOfMachine(), why: typeof why === 'string' ? why : '' };
}

/** A container may run as a user that no file names. */
function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
