import type { Decision, Parking } from '../../shared/state/turn/parking.ts';
import type { ToolUse } from './round.ts';
import { type Toolbox, type ToolOutput, type ToolSpec, toolError, toolText } from './toolbox.ts';

/** What a person has to decide before a round of tools goes on. */
export type Asking =
  /** Whether calls may be made. */
  | { kind: 'approval'; id: string; calls: readonly AskedCall[] }
  /** What the model wants to know. */
  | { kind: 'question'; id: string; question: string; choices: readonly string[] };

/** A call that waits for its approval, and whether its chat may be spared the question from then on. */
export interface AskedCall {
  id: string;
  name: string;
  input: Readonly<Record<string, unknown>>;
  mayBecomeUsual: boolean;
}

/** What decides whether a call is made. */
export interface AskingPolicy {
  specs: readonly ToolSpec[];
  /** Whether the chat has allowed a tool for good. */
  isUsual: (tool: string) => boolean;
}

/** Nobody reads more than this before they press. */
const CALLS_MAX = 10;
const TOO_MANY = `At most ${CALLS_MAX} calls that need an approval are asked for at once. This one was not made: make it in a later step.`;
const NOT_ASKED = 'The person could not be asked, so nothing was done. Go on without it.';
const DECLINED = 'The person declined: this was not done. Do not try it again in another way.';
const UNWILLING = 'The person does not want to answer this.';
const LATE = 'Nobody answered in time, so nothing was done. Say so, and go on without it.';

/**
 * What a round still has to ask, or undefined when all of it is decided, or nobody can be asked: first all approvals at
 * once, then one question after the other. Pure.
 */
export function askingOf(
  calls: readonly ToolUse[],
  round: number,
  parking: Pick<Parking, 'decisionOf' | 'newest'>,
  policy: AskingPolicy,
): Asking | undefined {
  // A model that goes on asking where nobody is would hold up its chat for as long as each question may wait.
  const before = parking.newest && parking.decisionOf(parking.newest.id);
  if (before?.how === 'late' || before?.how === 'untold') return undefined;
  const approvals = toApprove(calls, policy);
  if (approvals.length > 0 && parking.decisionOf(approvalId(round)) === undefined)
    return {
      kind: 'approval',
      id: approvalId(round),
      calls: approvals.slice(0, CALLS_MAX).map((each) => asked(each, policy)),
    };
  for (const [at, call] of calls.entries()) {
    const question = questionOf(call, policy);
    const id = questionId(round, at);
    if (question !== undefined && parking.decisionOf(id) === undefined) return { kind: 'question', id, ...question };
  }
  return undefined;
}

/** The result of a call that is not made, or undefined for one that is to be made. Pure. */
export function insteadOf(
  call: ToolUse,
  calls: readonly ToolUse[],
  round: number,
  parking: Pick<Parking, 'decisionOf'>,
  policy: AskingPolicy,
): ToolOutput | undefined {
  if (questionOf(call, policy) !== undefined)
    return resultOf(parking.decisionOf(questionId(round, calls.indexOf(call))), true);
  if (!toApprove(calls, policy).includes(call)) return undefined;
  const decision = parking.decisionOf(approvalId(round));
  // What has to be asked for may be another call by now than when the person was asked.
  return decision?.calls?.includes(call.id) === false ? toolError(TOO_MANY) : resultOf(decision, false);
}

/** What a call comes to by what was decided; undefined for one that is to be made. */
function resultOf(decision: Decision | undefined, isQuestion: boolean): ToolOutput | undefined {
  const { how, text = '' } = decision ?? {};
  if (how === 'once' || how === 'always') return undefined;
  if (how === 'late') return toolError(LATE);
  if (how === 'declined') return toolError(isQuestion ? UNWILLING : DECLINED);
  if (how === 'chosen' || how === 'written')
    return isQuestion ? toolText(text) : toolError(`The person did not allow it, and wrote instead: ${text}`);
  return toolError(NOT_ASKED);
}

/** The calls that may change something, of tools that the chat has not allowed for good. */
function toApprove(calls: readonly ToolUse[], { specs, isUsual }: AskingPolicy): ToolUse[] {
  return calls.filter((call) => {
    const spec = specs.find(({ name }) => name === call.name);
    if (!call.isReadable || spec?.asks === undefined) return false;
    return spec.asks === 'always' || !isUsual(call.name);
  });
}

function asked({ id, name, input }: ToolUse, { specs }: AskingPolicy): AskedCall {
  return { id, name, input, mayBecomeUsual: specs.find((spec) => spec.name === name)?.asks !== 'always' };
}

function approvalId(round: number): string {
  return `${round}`;
}

function questionId(round: number, at: number): string {
  return `${round}.${at}`;
}

/** The name of the built-in tool that asks a person. */
const ASK_USER = 'ask_user';

const CHOICES_MAX = 8;
const CHOICE_CHARS_MAX = 60;
const QUESTION_CHARS_MAX = 2_000;

const SPEC: ToolSpec = {
  name: ASK_USER,
  description: `Asks the person you talk to, and waits for the answer: with buttons, one for each of up to ${CHOICES_MAX} choices, or free text where you give none; people may write instead of pressing. Ask only what you need in order to go on and cannot find out yourself. One question a call.`,
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', description: 'The question, complete in itself, in the language of the chat.' },
      choices: {
        type: 'array',
        items: { type: 'string' },
        description: `Answers to choose from, of at most ${CHOICE_CHARS_MAX} characters each.`,
      },
    },
    required: ['question'],
    additionalProperties: false,
  },
  repeatable: true,
};

/** The question of a call of `ask_user`, where that is offered: guests do not have it. */
function questionOf({ name, input }: ToolUse, { specs }: AskingPolicy): ReturnType<typeof questionIn> {
  return name === ASK_USER && specs.some((spec) => spec.name === ASK_USER) ? questionIn(input) : undefined;
}

/** A question as it is shown; undefined where the input holds none that can be. Pure. */
function questionIn(
  input: Readonly<Record<string, unknown>>,
): { question: string; choices: readonly string[] } | undefined {
  const { question, choices = [] } = input;
  if (typeof question !== 'string' || question.trim() === '' || question.length > QUESTION_CHARS_MAX) return undefined;
  if (!Array.isArray(choices) || choices.length > CHOICES_MAX) return undefined;
  const areShort = choices.every(
    (each) => typeof each === 'string' && each.trim() !== '' && each.length <= CHOICE_CHARS_MAX,
  );
  return areShort ? { question: wellFormed(question), choices: choices.map(wellFormed) } : undefined;
}

function wellFormed(text: string): string {
  return text.toWellFormed().trim();
}

/** The built-in tool `ask_user`. A call with a proper question never gets here: its turn is parked instead. */
export function createAskUser(): Toolbox {
  const specs = [SPEC];
  return {
    specs: () => specs,
    call: async () =>
      toolError(
        `"question" must be a text of at most ${QUESTION_CHARS_MAX} characters, and "choices" at most ${CHOICES_MAX} texts of at most ${CHOICE_CHARS_MAX}.`,
      ),
  };
}
