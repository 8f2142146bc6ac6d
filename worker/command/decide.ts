import type { EntryId } from '../../shared/redis/keys.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { type Decision, type Parked, verdicts } from '../../shared/state/turn/parking.ts';
import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { type CommandHandler, type CommandPorts, replied } from './command.ts';

/** The field of the press's own turn that holds what it has decided. */
const DECISION = 'decision';
const PRESSED = /^(\d+-\d+) (\d+(?:\.\d+)?) (once|always|no|\d)$/;

/**
 * `/decide <entry> <question> <choice>`: what a button under a question sends. The first press decides and wakes the
 * turn that waits; whoever comes later is told so. It is stored before it is told: after a crash it is told again.
 */
export const decide: CommandHandler = async (ports, { attempt, words }) => {
  const { approval } = attempt.texts;
  const decision = await decided(ports, attempt, words);
  if (decision === undefined) return replied('decide', approval.over);
  return replied('decide', approval.decided(decision.how, decision.by?.name ?? '', decision.text ?? ''));
};

/** The decision that this press has made; undefined where it came too late, or names nothing that waits in its chat. */
async function decided(ports: CommandPorts, attempt: Attempt, words: string): Promise<Decision | undefined> {
  const [, entry, id, word] = PRESSED.exec(words) ?? [];
  if (entry === undefined || id === undefined || word === undefined) return undefined;
  const waiting = await ports.state.parked(entry as EntryId, attempt.chat);
  const kept = attempt.turn.content(DECISION);
  if (kept !== undefined) {
    if (waiting) await ports.state.wake(waiting.head);
    return JSON.parse(kept) as Decision;
  }
  if (waiting === undefined) return undefined;
  const { parking, head } = waiting;
  const parked = parking.newest;
  const decision = parked?.id === id ? decisionOf(word, parked, attempt) : undefined;
  if (parked === undefined || decision === undefined) return undefined;
  const tools = [...new Set(parked.calls.map(({ tool }) => tool))];
  const lasting = parked.calls.filter(({ mayBecomeUsual }) => mayBecomeUsual).map(({ tool }) => tool);
  const usual = decision.how === 'always' ? lasting : [];
  const allowed = chatState(attempt.keys, attempt.chat).allowTools([...new Set([...attempt.usualTools, ...usual])]);
  const written = await commit(ports.ask.observability, attempt, {
    step: 'decided',
    changes: [
      ...parking.decide(id, decision, attempt.nowMs()),
      attempt.turn.keepContent(DECISION, JSON.stringify(decision)),
      ...(usual.length > 0 ? [allowed] : []),
    ],
    expected: [...parking.isUndecided(id), parking.isAsked(parked)],
    events: [{ event: 'question.decided', of: head.entry, how: decision.how, by: decision.by?.id, tools }],
  });
  if (written === 'unmet') return undefined;
  ports.ask.observability.reach('question decided');
  await ports.state.wake(head);
  return decision;
}

function decisionOf(word: string, parked: Parked, { message }: Attempt): Decision | undefined {
  const by = message.ok ? { id: message.value.from.id, name: message.value.from.name } : undefined;
  if (word === 'no') return { how: 'declined', by, ...verdicts(parked, 'declined') };
  if (word === 'once' || word === 'always')
    return parked.calls.length > 0 ? { how: word, by, ...verdicts(parked, word) } : undefined;
  const text = parked.choices[Number(word)];
  return text === undefined ? undefined : { how: 'chosen', by, text };
}
