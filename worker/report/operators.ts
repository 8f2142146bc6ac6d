import { utcTime } from '../../shared/base/wall-time.ts';
import { readAllowed } from '../../shared/state/chat/allowed-people.ts';
import { EVERY_CHAT, type Pause } from '../../shared/state/lane/stops.ts';
import type { Order } from '../../shared/state/orders.ts';
import { readStrangers } from '../../shared/state/pairing/strangers.ts';
import { readActions } from '../../shared/state/process/actions.ts';
import { knockAlert } from '../alerts/causes/receiving.ts';
import { plainName } from '../ask/message-header.ts';
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
  const records = await readActions(redis, Number(options.limit ?? ACTIONS_SHOWN));
  const rows = records.map(({ atMs, by, deed, target, why }) => [utcTime(atMs), by, deed, target, why || '–']);
  const columns = ['When', 'By', 'Action', 'Of', 'Why'];
  const sections = [tableSection('The newest first', columns, rows, 'No action is on record.')];
  return { report: { title: 'Actions', nowMs: Date.now(), sections }, json: records };
};

/** The report `allow`: ids allowed by the settings, the strangers who wait, and ids allowed by operators. */
export const showAllowed: ReadReport = async ({ redis, settings: { TELEGRAM_ALLOWED_IDS: ids } }) => {
  const orders = await readAllowed(redis);
  const set = ids === 'everyone' ? ['*'] : [...ids].map(String);
  const waiting = await readStrangers(redis);
  const facts = [
    fact('TELEGRAM_ALLOWED_IDS', set.join(', ') || 'not set here'),
    ...waiting.map((each) => fact('Waits', knockAlert(each, plainName(each.name)).text)),
  ];
  const json = { set, added: orders, waiting };
  return { report: { nowMs: Date.now(), sections: [{ facts }, allowedSection(orders)] }, json };
};

export function allowedSection(allowed: readonly Order[]): Section {
  return ordersSection('Allowed besides TELEGRAM_ALLOWED_IDS', 'Id', allowed, 'id');
}

/** The section about orders of operators that are in force, such as pauses. */
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

/**
 * The action that ends the pause of every chat or, without such a pause, begins one. A pause can begin only with a button on a
 * page of the console, because such buttons ask for confirmation.
 */
export function everyChatAction(pauses: readonly Pause[]): Action {
  const isPaused = pauses.some(({ chat }) => chat === EVERY_CHAT);
  return isPaused ? resumeAction(EVERY_CHAT) : { act: { verb: 'pause', target: EVERY_CHAT, label: 'Pause all' } };
}
