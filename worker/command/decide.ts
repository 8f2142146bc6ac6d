import { toolLabel } from '../../shared/base/text.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { GRANT_MS, type ToolGrant } from '../../shared/state/chat/grants.ts';
import { type Decision, type Parked, toolsShown, verdicts } from '../../shared/state/turn/parking.ts';
import type { Attempt } from '../lane/attempt.ts';
import { commit } from '../lane/events.ts';
import { timeZoneOf } from '../lane/settings.ts';
import { type CommandHandler, type CommandPorts, replied } from './command.ts';
import { onDay } from './words.ts';

/** The field of the press's own turn that holds its effect. */
const PRESS = 'decision';
const PRESSED = /^(\d+-\d+) (\d+(?:\.\d+)?) (once|always\d?|no|\d)$/;

/** The effect of a press on a question. */
interface Press {
  decision: Decision;
  /** The tool that it grants to the chat. */
  grant?: ToolGrant;
  /** The question as it goes on, with the calls of other tools; absent where all is decided. */
  open?: Parked;
  /** The tools that it is about, where it is not about all that the question shows. */
  about: readonly string[];
}

/**
 * `/decide <entry> <question> <choice>`: what a button under a question sends. The first press decides and wakes the
 * turn that waits; a later one is told that it is late. A press on "Always" of one tool among several decides about the calls
 * of that tool, and the question stays open for the others. The effect is stored before the reply: after a crash the reply
 * comes again.
 */
export const decide: CommandHandler = async (ports, { attempt, words }) => {
  const { approval } = attempt.texts;
  const press = await pressed(ports, attempt, words);
  if (press === undefined) return replied('decide', approval.over);
  const { decision, grant, open, about } = press;
  if (grant === undefined) {
    const tools = about.map(toolLabel).join(', ');
    return replied('decide', approval.decided(decision.how, decision.by?.name ?? '', decision.text ?? tools));
  }
  const until = onDay(grant.untilMs, timeZoneOf(attempt, ports.ask.settings));
  const granted = approval.granted(grant.by.name, toolLabel(grant.tool), until);
  if (open === undefined) return replied('decide', granted);
  return replied('decide', `${granted}\n\n${approval.stillOpen}`, { keepsButtons: true });
};

/** The effect of this press; undefined where it came too late, or names nothing that waits in its chat. */
async function pressed(ports: CommandPorts, attempt: Attempt, words: string): Promise<Press | undefined> {
  const [, entry, id, word] = PRESSED.exec(words) ?? [];
  if (entry === undefined || id === undefined || word === undefined) return undefined;
  const waiting = await ports.state.parked(entry as EntryId, attempt.chat);
  const stored = attempt.turn.content(PRESS);
  const before = stored === undefined ? undefined : (JSON.parse(stored) as Press);
  // The turn may have gone on already.
  if (waiting === undefined) return before;
  const { parking, head } = waiting;
  const parked = parking.newest;
  const press = before ?? (parked?.id === id ? pressOn(word, parked, attempt) : undefined);
  if (parked === undefined || press === undefined) return undefined;
  if (before === undefined && !(await store(ports, attempt, { press, parked, waiting }))) return undefined;
  if (press.open === undefined) await ports.state.wake(head);
  return press;
}

/** Stores the effect of a press with the turn that waits; false where the question has changed since it was read. */
async function store(
  ports: CommandPorts,
  attempt: Attempt,
  { press, parked, waiting: { parking, head } }: Waiting,
): Promise<boolean> {
  const { decision, grant, open } = press;
  const tools = grant ? [grant.tool] : toolsShown(parked);
  const others = attempt.toolGrants.list.filter(
    ({ tool, untilMs }) => tool !== grant?.tool && untilMs > attempt.nowMs(),
  );
  const written = await commit(ports.ask.observability, attempt, {
    step: 'decided',
    changes: [
      ...(open ? [parking.keepOpen(open)] : parking.decide(parked.id, decision, attempt.nowMs())),
      attempt.turn.keepContent(PRESS, JSON.stringify(press)),
      ...(grant ? [chatState(attempt.keys, attempt.chat).grantTools([...others, grant])] : []),
    ],
    expected: [...parking.isUndecided(parked.id), parking.isAsked(parked)],
    events: [{ event: 'question.decided', of: head.entry, how: decision.how, by: decision.by?.id, tools }],
  });
  if (written !== 'unmet') ports.ask.observability.reach('question decided');
  return written !== 'unmet';
}

/** A press, and the question that waits for it. */
interface Waiting {
  press: Press;
  parked: Parked;
  waiting: NonNullable<Awaited<ReturnType<CommandPorts['state']['parked']>>>;
}

function pressOn(word: string, parked: Parked, attempt: Attempt): Press | undefined {
  const { message } = attempt;
  const by = message.ok ? { id: message.value.from.id, name: message.value.from.name } : undefined;
  const rest = parked.calls.filter(({ how }) => how === undefined);
  const about = rest.length < parked.calls.length ? toolsShown({ calls: rest }) : [];
  if (word === 'no') return { decision: { how: 'declined', by, ...verdicts(parked, 'declined') }, about };
  if (word === 'once')
    return rest.length > 0 ? { decision: { how: 'once', by, ...verdicts(parked, 'once') }, about } : undefined;
  if (word.startsWith('always')) return by && grantOn(Number(word.slice('always'.length)), parked, by, attempt.nowMs());
  const text = parked.choices[Number(word)];
  return text === undefined ? undefined : { decision: { how: 'chosen', by, text }, about: [] };
}

/** A press on "Always" of the tool at this place: it decides about the calls of that tool alone. */
function grantOn(at: number, parked: Parked, by: NonNullable<Decision['by']>, nowMs: number): Press | undefined {
  const tool = toolsShown(parked)[at];
  const definition = parked.calls.find((call) => call.tool === tool && call.definition !== undefined)?.definition;
  if (tool === undefined || definition === undefined) return undefined;
  const calls = parked.calls.map((call) =>
    call.tool === tool ? { ...call, how: call.how ?? ('always' as const) } : call,
  );
  const isOpen = calls.some(({ how }) => how === undefined);
  return {
    decision: { how: 'always', by, ...verdicts({ calls }, 'always') },
    grant: { tool, definition, by: { id: by.id, name: by.name ?? `${by.id}` }, untilMs: nowMs + GRANT_MS },
    ...(isOpen && { open: { ...parked, calls } }),
    about: [tool],
  };
}
