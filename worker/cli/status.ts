import { pause, within } from '../../shared/base/lifecycle.ts';
import { totalsOf } from '../../shared/state/spending/limit.ts';
import { loadPrices } from '../model/prices.ts';
import { auditReport, readAudit } from '../report/audit-report.ts';
import { readStatus, statusReport } from '../report/status.ts';
import { type Terminal, UsageError, usableConfig } from './terminal.ts';
import { textOf } from './text.ts';
import { type Call, type Ground, withRedis } from './verb.ts';

const EVERY_S_DEFAULT = 2;
const DEADLINE_MS = 10_000;
const DAYS_DEFAULT = 7;
const DAY_MS = 24 * 3600_000;
/** Home, and erase to the end of each line and of the screen: nothing flickers. */
const HOME = '\x1b[H';
const ERASE_LINE = '\x1b[K\n';
const ERASE_BELOW = '\x1b[J';

/** Prints the state of everything; the exit code is 1 when it is red. */
export async function status({ options, isJson, terminal }: Call): Promise<number> {
  const everyMs = Number(options.every ?? EVERY_S_DEFAULT) * 1000;
  return withRedis(terminal, async (ground) => {
    if (options.watch === undefined) return show(ground, terminal, isJson);
    while (terminal.isRead()) {
      await show(ground, isJson ? terminal : inPlace(terminal), isJson).catch((error: Error) =>
        terminal.line(`RED  ${error.message}`),
      );
      await pause(everyMs);
    }
    return 0;
  });
}

async function show(ground: Ground, terminal: Terminal, isJson: boolean): Promise<number> {
  // The connection waits for a Redis that is away, and an operator does not.
  const now = await within(readStatus(ground, ground.config), DEADLINE_MS);
  if (now === undefined) throw new Error(`Redis does not answer within ${DEADLINE_MS / 1000} s.`);
  terminal.line(isJson ? JSON.stringify(now) : textOf(statusReport(now)));
  return now.colour === 'red' ? 1 : 0;
}

function inPlace(terminal: Terminal): Terminal {
  return {
    ...terminal,
    line: (text) => terminal.line(`${HOME}${text.replaceAll('\n', ERASE_LINE)}${ERASE_LINE}${ERASE_BELOW}`),
  };
}

/** Prints the audit; the exit code is 1 when messages are unaccounted for, or called answered without a proof. */
export async function audit(call: Call): Promise<number> {
  const days = Number(call.options.days ?? DAYS_DEFAULT);
  const { config } = usableConfig(call.terminal, 'tool');
  // An unusable file is a configuration error.
  const prices = await loadPrices(config.MODEL_PRICES_FILE).catch((error: Error) => {
    throw new UsageError(error.message);
  });
  return withRedis(call.terminal, async (source) => {
    const read = await readAudit(source, { days, prices, totals: totalsOf(config) });
    const { nowMs, proof, budgets, days: _, ...rollUp } = read;
    const period = { days, from: new Date(nowMs - days * DAY_MS).toISOString(), to: new Date(nowMs).toISOString() };
    call.print({ ...period, proof, ...rollUp, budgets }, () => auditReport(read));
    return proof.failedShards.length === 0 && rollUp.delivery.unconfirmed === 0 ? 0 : 1;
  });
}
