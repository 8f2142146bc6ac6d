import { nextOutcome } from '../../fixture/ledger.ts';
import { say } from '../tool.ts';
import type { Stage } from './stage.ts';
import { traceTree } from './trace-tree.ts';

const OUTCOME_MS = 5_000;
const FLUSH_MS = 10_000;

/** Ends the demo: what the user saw, the ledger, the alert and the trace. Returns whether the user was answered. */
export async function report(stage: Stage, answered: boolean): Promise<boolean> {
  const { claude, telegram, otlp, peek, keys, chat, operator } = stage;
  const outcome = await nextOutcome(stage, chat, 1, OUTCOME_MS).catch(() => undefined);
  const calls = (kind: string) => claude.calls.filter((call) => call.kind === kind).length;
  say('\nReport');
  say(
    `  outcome: ${outcome ? `${outcome.outcome}, ${outcome.settledAtMs - (outcome.sentAtMs ?? 0)} ms after it was sent (to the second)` : 'none'}`,
  );
  say(`  model calls: ${calls('main')} for the message (at most 4), ${calls('compaction')} for compaction (at most 2)`);
  say(`  requests that broke the API contract: ${claude.violations().length}`);
  say(`  answers the user saw: ${telegram.shown(chat).filter(({ text }) => text.includes('You said')).length}`);
  say(`  messages left unanswered: ${await peek.xlen(keys.inbound)}`);
  say(`  alerts to the operator: ${telegram.shown(operator).length}`);
  const told = answered && outcome?.outcome === 'answered' && claude.violations().length === 0;
  if (outcome) {
    await otlp
      .waitForSpan((span) => span.name === 'settle inbound' && span.traceId === outcome.traceId, FLUSH_MS)
      .catch(() => {});
    say(`\nThe trace ${outcome.traceId} (offset, duration, span)`);
    for (const line of traceTree(otlp.trace(outcome.traceId))) say(line);
  }
  say(told ? '\nThe user was answered.' : '\nThe user was NOT answered.');
  return told;
}
