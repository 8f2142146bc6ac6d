import { utcTime } from '../../shared/base/wall-time.ts';
import { readAllowed } from '../../shared/state/chat/allowed-people.ts';
import { EVERY_CHAT, type Pause } from '../../shared/state/lane/stops.ts';
import type { Order } from '../../shared/state/orders.ts';
import { readActions } from '../../shared/state/process/actions.ts';
import {
  type Action,
  chatName,
  fact,
  listSection,
  type ReadReport,
  resumeAction,
  type Section,
  tableSection,
} from './report.ts';

const ACTIONS_SHOWN = 50;
const ORDERS_SHOWN = 20;

export const showActions: ReadReport = async ({ redis }, { options }) => {
  const kept = await readActions(redis, Number(options.limit ?? ACTIONS_SHOWN));
  const rows = kept.map(({ atMs, by, deed, target, why }) => [utcTime(atMs), by, deed, target, why || '–']);
  const columns = ['When', 'By', 'Action', 'Of', 'Why'];
  const sections = [tableSection('The newest first', columns, rows, 'No action is on record.')];
  return { report: { title: 'Actions', nowMs: Date.now(), sections }, json: kept };
};

/** Who is allowed by the settings, and who was let in besides. */
export const showAllowed: ReadReport = async ({ redis, settings: { TELEGRAM_ALLOWED_IDS: ids } }) => {
  const added = await readAllowed(redis);
  const set = ids === 'everyone' ? ['*'] : [...ids].map(String);
  const facts = [fact('TELEGRAM_ALLOWED_IDS', set.join(', ') || 'not set here')];
  return { report: { nowMs: Date.now(), sections: [{ facts }, allowedSection(added)] }, json: { set, added } };
};

export function allowedSection(allowed: readonly Order[]): Section {
  return ordersSection('Allowed besides TELEGRAM_ALLOWED_IDS', 'Id', allowed, 'id');
}

/** Orders of operators that hold until they are taken back. */
export function ordersSection(title: string, of: string, orders: readonly Order[], noun: string): Section {
  const rows = orders
    .slice(0, ORDERS_SHOWN)
    .map(({ chat, sinceMs, by, why }) => [
      chat === EVERY_CHAT ? 'every chat' : chatName(chat),
      { atMs: sinceMs },
      by,
      why || 'no reason given',
    ]);
  const more = { count: orders.length - ORDERS_SHOWN, noun };
  return listSection(title, { table: { columns: [of, 'Since', 'By', 'Reason'], rows }, more });
}

/** Pauses every chat, or ends that. A pause of all has a button only on a page, which asks once more. */
export function everyChatAction(pauses: readonly Pause[]): Action {
  const isPaused = pauses.some(({ chat }) => chat === EVERY_CHAT);
  return isPaused ? resumeAction(EVERY_CHAT) : { act: { verb: 'pause', target: EVERY_CHAT, label: 'Pause all' } };
}
