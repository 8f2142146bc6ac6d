import { payerOf } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import type { RecoverPorts } from './effects.ts';
import type { Subject, TimedSubject } from './session-compaction.ts';
import type { Summariser, SummaryPart } from './summarise.ts';

/**
 * The summariser of a chat; it keeps each finished part with the turn. A chunk must fit the summariser, and its summary
 * must fit the chat.
 */
export async function summariserOf(ports: RecoverPorts, subject: TimedSubject): Promise<Summariser> {
  const { attempt, room } = subject;
  const { windowTokens, maxOutputTokens } = await ports.endpoint.model.limits(ports.settings.compactionModel);
  return {
    model: ports.endpoint.model,
    payer: payerOf(attempt),
    name: ports.settings.compactionModel,
    fallbackName: otherModel(ports.settings),
    limitTokens: Math.min(windowTokens, room.limitTokens),
    outputTokens: maxOutputTokens ?? Number.POSITIVE_INFINITY,
    summaryTokens: Math.max(1, room.retainedTokens - room.keptTokens),
    preserve: ports.settings.preserve,
    patienceMs: subject.patienceMs,
    doubtWaitMs: ports.settings.doubtWaitMs,
    untilMs: subject.untilMs,
    beforeCall: () => attempt.assertOwned(),
    keepPart: async (part) => {
      const kept = JSON.stringify({ of: subjectKey(subject), part });
      await attempt.write('', [attempt.turn.keepSummaryPart(kept)]);
      ports.instruments.reach('summary part stored');
    },
  };
}

/** Trouble of the summariser alone costs no conversation: the model that answers can summarise as well. */
function otherModel({ compactionModel, fallbackModel, modelName }: Settings): string | undefined {
  return [fallbackModel, modelName].find((name) => name !== undefined && name !== compactionModel);
}

/** The finished part of the same summary: the same records give the same chunks. */
export function finishedPart(subject: Subject): SummaryPart | undefined {
  const kept = subject.attempt.turn.summaryPart;
  if (kept === undefined) return undefined;
  const { of, part } = JSON.parse(kept) as { of: string; part: SummaryPart };
  return of === subjectKey(subject) ? part : undefined;
}

function subjectKey({ attempt, opened, room }: Subject): string {
  return [attempt.session, opened.firstIndex, opened.logRecords, room.limitTokens].join(' ');
}
