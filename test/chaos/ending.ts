/** Reads how messages ended: the ledger of outcomes against what the users saw. */
import type { Evidence, LedgerLine } from './evidence.ts';
import { isAnswered, type Told } from './telling.ts';
import type { Asked, AskKind } from './traffic.ts';

/** How the messages of a run ended. */
export interface Endings {
  /** Messages that have no outcome, several, or one that nobody was told of; and why that is so. */
  wrong: readonly { asked: Asked; why: string }[];
  /** Messages that have no whole answer, but for those that their user cancelled or that Redis was made to forget. */
  unanswered: readonly Told[];
  /** Messages that the ledger calls answered although a part of the answer was never seen. */
  unseen: readonly { asked: Asked; why: string }[];
}

const CANCELLING: readonly AskKind[] = ['new', 'stop', 'forget'];

/** Reads all chats. `chats` is what was told in each, by update id. Pure. */
export function readEndings(evidence: Evidence, chats: readonly (readonly Told[])[]): Endings {
  const lines = Map.groupBy(evidence.ledger, ({ entry }) => entry);
  const cancelled = new Set(chats.flatMap((told) => cancelledIn(evidence, told)));
  const kept = chats.flat().filter(({ asked }) => !evidence.cut.accepts.has(asked.updateId));
  const wrong = kept
    .filter(({ asked }) => asked.updateId <= evidence.confirmedUpTo)
    .flatMap((told) => {
      const entry = evidence.entryOf.get(told.asked.updateId);
      const ends = entry === undefined ? [] : (lines.get(entry) ?? []);
      const why = wrongWith(evidence, told, entry, ends, cancelled.has(told));
      return why === undefined ? [] : [{ asked: told.asked, why }];
    });
  const unseen = kept.flatMap((told) => {
    const ends = lines.get(evidence.entryOf.get(told.asked.updateId) ?? '') ?? [];
    const isProven = ends.some(({ outcome, delivery }) => outcome === 'answered' && (delivery?.unsure ?? 0) === 0);
    return isProven && !isAnswered(told)
      ? [{ asked: told.asked, why: `answered, but shown: ${shownParts(told)}` }]
      : [];
  });
  return { wrong, unanswered: kept.filter((told) => !isAnswered(told) && !cancelled.has(told)), unseen };
}

/** What a chat cancelled: the ledger says so, and the reply to a later command of the chat tells it. */
function cancelledIn({ ledger, entryOf }: Evidence, told: readonly Told[]): Told[] {
  const entries = new Set(ledger.filter(({ outcome }) => outcome === 'cancelled').map(({ entry }) => entry));
  const last = told.findLastIndex((each) => CANCELLING.includes(each.asked.kind) && isAnswered(each));
  return told.slice(0, Math.max(0, last)).filter(({ asked }) => entries.has(entryOf.get(asked.updateId) ?? ''));
}

function wrongWith(
  { alerts }: Evidence,
  told: Told,
  entry: string | undefined,
  lines: readonly LedgerLine[],
  isCancelled: boolean,
): string | undefined {
  if (entry === undefined) return 'confirmed to Telegram, but never accepted';
  const [line, ...more] = lines;
  if (line === undefined) return `entry ${entry} has no outcome; shown: ${shownParts(told)}`;
  if (more.length > 0) return `entry ${entry} has ${lines.length} outcomes: ${lines.map((each) => each.outcome)}`;
  const isDone = line.outcome === 'answered' || line.outcome === 'command';
  const isNamed = alerts.some((alert) => alert.includes(entry));
  if (isDone && !isAnswered(told) && !isNamed)
    return `entry ${entry} is ${line.outcome}, but shown: ${shownParts(told)}`;
  if (isCancelled) return told.of === 0 ? undefined : `entry ${entry} is cancelled, but shown: ${shownParts(told)}`;
  const isNotified = isAnswered(told) || told.noticed || isNamed;
  return isNotified ? undefined : `entry ${entry} ended as ${line.outcome} (${line.reason}), and nobody was told`;
}

function shownParts({ parts, of, noticed }: Told): string {
  if (of > 0) return `parts ${[...parts.keys()]} of ${of}`;
  return noticed ? 'a notice' : 'nothing';
}
