import type { Hono } from 'hono';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { countReplayable } from '../operator/letters.ts';
import { lettersReport, readLetters } from '../report/letters.ts';
import type { Act, ReportSource } from '../report/report.ts';
import { saidOf } from './acts.ts';
import { HOME } from './pages/layout.ts';
import { reportView } from './reports.ts';
import type { DeskPorts, VisitEnv } from './visit.ts';

const LETTERS_SHOWN = 50;
const DEAD = `${HOME}/dead`;

/** Serves the newest dead letters, or those of the chat that a link names. */
export function serveLetters(app: Hono<VisitEnv>, desk: DeskPorts): void {
  app.get(DEAD, async (visit) => {
    const chat = parseChatKey(visit.req.query('chat') ?? '')?.chat;
    const read = await readLetters(desk.source, chat === undefined ? {} : { chat }, LETTERS_SHOWN);
    return reportView(visit, desk, {
      ...{ title: 'Dead letters', at: DEAD, report: lettersReport(read, Date.now()), before: saidOf(visit) },
      around: {
        acts:
          chat === undefined ? await replayAllIn(desk.source, 0, undefined, (count) => `Put back all ${count}`) : [],
      },
    });
  });
}

/** The act that puts back what failed within a time, until now where it has no end; none where nothing would come back. */
export async function replayAllIn(
  source: ReportSource,
  sinceMs: number,
  endedMs: number | undefined,
  labelOf: (count: number) => string,
): Promise<Act[]> {
  const untilMs = endedMs ?? (await serverTimeMs(source.redis)) + 1;
  const count = await countReplayable(source, { sinceMs, untilMs });
  return count === 0 ? [] : [{ verb: 'replay', target: `${sinceMs}..${untilMs}`, label: labelOf(count) }];
}
