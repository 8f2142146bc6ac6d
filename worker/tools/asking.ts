import type { ToolGrant } from '../../shared/state/chat/tool-grants.ts';
import type { CallDecision, Decision, Parking } from '../../shared/state/turn/parking.ts';
import { type Toolbox, type ToolCall, type ToolOutput, type ToolSpec, toolError, toolText } from './toolbox.ts';

/** A decision that a round of tools needs from a person before the round goes on. */
export type Asking =
  /** Whether to make the calls. `beyond`: further calls, which exceed the limit for one request. */
  | { kind: 'approval'; id: string; calls: readonly AskedCall[]; beyond: readonly AskedCall[] }
  /** A question of the model. */
  | { kind: 'question'; id: string; question: string; choices: readonly string[] };

/** A call that the model made. */
export interface ToolUse extends Pick<ToolCall, 'id' | 'name' | 'input'> {
  /** Whether the model wrote the input as a JSON object, or wrote none. */
  isReadable: boolean;
}

/** A call that needs an approval. */
export interface AskedCall extends Pick<ToolCall, 'id' | 'name' | 'input'> {
  /** The definition of the tool that a grant would cover; absent if an approval of this call cannot become a grant. */
  definition?: string | undefined;
}

/** The rules for calls on which nobody has decided yet. */
interface AskingPolicy {
  specs: readonly ToolSpec[];
  grants: readonly ToolGrant[];
  /** Whether grants apply. False for calls on behalf of guests. */
  mayGrant: boolean;
  nowMs: number;
}

/** A round of calls, the stored questions and decisions on them, and the policy for calls without a decision. */
export interface DecidableRound {
  calls: readonly ToolUse[];
  round: number;
  parking: Pick<Parking, 'decisionOf' | 'newest' | 'openQuestion'>;
  policy: AskingPolicy;
}

/** The maximum number of calls in one request for approval: people read no more before they press a button. */
const CALLS_MAX = 5;
const TOO_MANY = `At most ${CALLS_MAX} calls that need approval are asked for at once. This one was not made: make it again in a later step.`;
const NOT_ASKED = 'The person could not be asked, so nothing was done. Go on without it.';
const DECLINED = 'The person declined: this was not done. Do not try it again in another way.';
const UNWILLING = 'The person does not want to answer this.';
const LATE = 'Nobody answered in time, so nothing was done. Say so, and go on without it.';

/**
 * The next undecided question of a round: first one request for approval of all calls that need it, then each question of the
 * model. Undefined if all questions are decided, or if the message's newest question got no answer in time or could not be
 * sent. A change of the policy does not change which calls an open question asks about. Pure.
 */
export function askingOf(of: DecidableRound): Asking | undefined {
  const { newest } = of.parking;
  // If the newest question got no answer or could not be sent, ask no further question, since each question holds up the chat.
  const before = newest && of.parking.decisionOf(newest.id);
  return before?.how === 'late' || before?.how === 'untold' ? undefined : (approvalOf(of) ?? firstQuestionOf(of));
}

function approvalOf({ calls, round, parking, policy }: DecidableRound): Asking | undefined {
  const id = approvalId(round);
  if (parking.decisionOf(id) !== undefined) return undefined;
  const open =
    parking.openQuestion?.id === id ? parking.openQuestion.calls.filter(({ how }) => how === undefined) : undefined;
  const isToAsk = (call: ToolUse) => (open ? open.some((each) => each.id === call.id) : needsApproval(call, policy));
  const toAsk = calls.filter(isToAsk).map((call) => askedCall(call, policy));
  if (toAsk.length === 0) return undefined;
  return { kind: 'approval', id, calls: toAsk.slice(0, CALLS_MAX), beyond: toAsk.slice(CALLS_MAX) };
}

function firstQuestionOf({ calls, round, parking, policy }: DecidableRound): Asking | undefined {
  for (const [at, call] of calls.entries()) {
    const id = questionId(round, at);
    const question = questionOf(call, parking.openQuestion?.id === id || offersQuestions(policy));
    if (question !== undefined && parking.decisionOf(id) === undefined) return { kind: 'question', id, ...question };
  }
  return undefined;
}

/**
 * The result of a call that is not to be made: a person's answer, or an error because nobody has allowed the call. Undefined if
 * the call is to be made. A stored decision is final; the policy applies only to calls without a decision. Pure.
 */
export function resultWithoutCall(
  call: ToolUse,
  { calls, round, parking, policy }: DecidableRound,
): ToolOutput | undefined {
  const answer = parking.decisionOf(questionId(round, calls.indexOf(call)));
  if (answer !== undefined) return resultOf(answer.how, answer, true);
  const decision = parking.decisionOf(approvalId(round));
  const how = decision?.calls?.[call.id];
  if (how !== undefined) return resultOf(how, decision, false);
  const isUndecided = needsApproval(call, policy) || questionOf(call, offersQuestions(policy)) !== undefined;
  return isUndecided ? toolError(NOT_ASKED) : undefined;
}

/** The result of a call according to the decision; undefined if the decision allows the call. */
function resultOf(how: CallDecision, decision: Decision | undefined, isQuestion: boolean): ToolOutput | undefined {
  const text = decision?.text ?? '';
  if (how === 'once' || how === 'always') return undefined;
  if (how === 'late') return toolError(LATE);
  if (how === 'beyond') return toolError(TOO_MANY);
  if (how === 'declined') return toolError(isQuestion ? UNWILLING : DECLINED);
  if (how === 'chosen' || how === 'written')
    return isQuestion ? toolText(text) : toolError(`The person did not allow it, and wrote instead: ${text}`);
  return toolError(NOT_ASKED);
}

/** Whether a call needs an approval: its input is readable, its tool asks for approvals, and no grant applies. */
function needsApproval(call: ToolUse, { specs, grants, mayGrant, nowMs }: AskingPolicy): boolean {
  const spec = specs.find(({ name }) => name === call.name);
  if (!call.isReadable || spec?.asks === undefined) return false;
  return !mayGrant || !isGranted(spec, grants, nowMs);
}

/** Whether a grant in force covers the current definition of a tool; false for tools that must ask each time. Pure. */
export function isGranted(spec: Grantable, grants: readonly ToolGrant[], nowMs: number): boolean {
  const { name, definition, asks } = spec;
  const isFor = (grant: ToolGrant) => grant.tool === name && grant.definition === definition && grant.untilMs > nowMs;
  return asks !== 'always' && grants.some(isFor);
}

type Grantable = Pick<ToolSpec, 'name' | 'definition' | 'asks'>;

function askedCall({ id, name, input }: ToolUse, { specs, mayGrant }: AskingPolicy): AskedCall {
  const spec = specs.find((each) => each.name === name);
  const canBeGranted = mayGrant && spec?.asks === 'until granted';
  return { id, name, input, ...(canBeGranted && { definition: spec.definition }) };
}

function approvalId(round: number): string {
  return `${round}`;
}

function questionId(round: number, at: number): string {
  return `${round}.${at}`;
}

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

/** Whether the model may call `ask_user` in this turn. In the turns of guests it may not. */
function offersQuestions({ specs }: AskingPolicy): boolean {
  return specs.some((spec) => spec.name === ASK_USER);
}

/** The question of a call; undefined if the call is not one of `ask_user`, or `isOffered` is false, or the input is invalid. */
function questionOf({ name, input }: ToolUse, isOffered: boolean): ReturnType<typeof questionIn> {
  return name === ASK_USER && isOffered ? questionIn(input) : undefined;
}

/** The question in an input of `ask_user`; undefined if the input breaks the limits of the tool. Pure. */
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

/** The built-in tool `ask_user`. Its `call` gets only invalid questions; a valid one makes the turn wait for a person. */
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
