import { toolLabel } from '../../shared/base/text.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { GRANT_MS, type ToolGrant } from '../../shared/state/chat/tool-grants.ts';
import { callDecisions, type Decision, type ParkedQuestion, toolsShown } from '../../shared/state/turn/parking.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import { timeZoneOf } from '../lane/turn-settings.ts';
import { type CommandHandler, replied } from './command.ts';
import { onDay } from './words.ts';

/** The field of this command's own turn that stores the effect of the button press. */
const PRESS = 'decision';
const PRESSED = /^(\d+-\d+) (\d+(?:\.\d+)?) (once|always\d?|no|\d)$/;

/** The effect of a press of a button under a question. */
interface Press {
  decision: Decision;
  /** The tool that the press grants to the chat, if any. */
  grant?: ToolGrant;
  /** The question that stays open, about the calls of other tools; absent if the press decides all calls. */
  open?: ParkedQuestion;
}

/**
 * `/decide <entry> <question> <choice>`: the command of a button under a question. A press decides the question and wakes the
 * turn that waits; the reply to any later press says that the question is over. A press of "Always" for one of several tools
 * decides only the calls of that tool; the question stays open for the calls of the other tools. Stores the effect before the
 * reply, so that an attempt after a crash repeats only the reply and the waking of the turn.
 */
export const decide: CommandHandler = async ({ turn, argument }) => {
  const { approval } = turn.texts;
  const press = await applyPress(turn, argument);
  if (press === undefined) return replied('decide', approval.over);
  const { decision, grant, open } = press;
  const by = decision.by?.name ?? '';
  if (grant === undefined) return replied('decide', approval.decided(decision.how, by, decision.text ?? ''));
  const until = onDay(grant.untilMs, timeZoneOf(turn, turn.env.settings));
  const granted = approval.granted(by, toolLabel(grant.tool), until);
  if (open === undefined) return replied('decide', granted);
  return replied('decide', `${granted}\n\n${approval.stillOpen}`, { keepsButtons: true });
};

/** Applies this press once. Returns its effect; undefined if the press came too late, or fits no open question of the chat. */
async function applyPress(turn: Turn<Env>, words: string): Promise<Press | undefined> {
  const { env } = turn;
  const [, entry, id, word] = PRESSED.exec(words) ?? [];
  if (entry === undefined || id === undefined || word === undefined) return undefined;
  const waiting = await env.chatState.findParking(entry as EntryId, turn.chat);
  const stored = turn.content(PRESS);
  const before = stored === undefined ? undefined : (JSON.parse(stored) as Press);
  // The turn with the question may have ended since the press took effect.
  if (waiting === undefined) return before;
  const { parking, head } = waiting;
  const parked = parking.newest;
  const press = before ?? (parked?.id === id ? pressOn(word, parked, turn) : undefined);
  if (parked === undefined || press === undefined) return undefined;
  if (before === undefined) {
    const { decision, grant, open } = press;
    const tools = grant ? [grant.tool] : toolsShown(parked);
    const written = await commit(turn, {
      step: 'decided',
      changes: [
        ...(open ? [parking.keepOpen(open)] : parking.decide(id, decision, turn.nowMs())),
        turn.keepContent(PRESS, JSON.stringify(press)),
        ...(grant ? [addGrant(turn, grant)] : []),
      ],
      expected: [...parking.expectUndecided(id), parking.expectNewest(parked)],
      events: [{ event: 'question.decided', of: head.entry, how: decision.how, by: decision.by?.id, tools }],
    });
    if (written === 'unmet') return undefined;
    env.reach('question decided');
  }
  if (press.open === undefined) await env.chatState.wake(head);
  return press;
}

function addGrant({ keys, chat, toolGrants, nowMs }: Turn, grant: ToolGrant): Change {
  const others = toolGrants.filter(({ tool, untilMs }) => tool !== grant.tool && untilMs > nowMs());
  return chatState(keys, chat).grantTools([...others, grant]);
}

function pressOn(word: string, parked: ParkedQuestion, turn: Turn): Press | undefined {
  const by = turn.message.ok ? turn.message.value.from : undefined;
  const who = by && { id: by.id, name: by.name };
  if (word === 'no') return { decision: { how: 'declined', by: who, ...callDecisions(parked, 'declined') } };
  if (word === 'once' && parked.calls.length > 0)
    return { decision: { how: 'once', by: who, ...callDecisions(parked, 'once') } };
  if (word.startsWith('always')) return who && grantOn(Number(word.slice('always'.length)), parked, who, turn);
  const text = parked.choices[Number(word)];
  return text === undefined ? undefined : { decision: { how: 'chosen', by: who, text } };
}

/** The effect of the button "Always" for the tool at index `at`: a grant, and a decision on the calls of that tool only. */
function grantOn(at: number, parked: ParkedQuestion, by: ToolGrant['by'], { nowMs }: Turn): Press | undefined {
  const tool = toolsShown(parked)[at];
  const definition = parked.calls.find((call) => call.tool === tool)?.definition;
  if (tool === undefined || definition === undefined) return undefined;
  const calls = parked.calls.map((call) => (call.tool === tool ? { ...call, how: call.how ?? 'always' } : call));
  const isOpen = calls.some(({ how }) => how === undefined);
  return {
    decision: { how: 'always', by, ...callDecisions({ calls }, 'always') },
    grant: { tool, definition, by, untilMs: nowMs() + GRANT_MS },
    ...(isOpen && { open: { ...parked, calls } }),
  };
}
