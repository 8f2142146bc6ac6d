import type { Change } from '../../shared/state/change.ts';
import { type LimitUsage, percentOf, spentInWords } from '../../shared/state/spending/limit.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { type TurnSettings, timeZoneOf } from '../lane/turn-settings.ts';
import type { Block } from '../model/block.ts';
import type { ModelAnswer } from '../model/port.ts';
import { sourcesOf, withSources } from '../reply/sources.ts';
import type { OpenedSession } from '../session/held-window.ts';
import { type AssistantRecord, newStamp, textOf } from '../session/record.ts';
import { append } from '../session/store.ts';

/**
 * The model's text for a message that is not answered yet. It is stored with the turn before a person sees it, so that
 * it outlives the process, and kept if no answer comes.
 */
export interface PartialAnswer {
  /** The text before its calls of tools, which the session has already. */
  recorded: string;
  /** The text since; the longest of all tries. */
  own: string;
}

/** The most characters of an unfinished answer that are stored, in UTF-16 units. */
const SAID_CHARS_MAX = 500_000;

/** The partial answer that is stored with a turn. */
export function partialAnswerOf(turn: Turn): PartialAnswer {
  const { text, recordedChars } = turn.partialAnswer;
  return { recorded: text.slice(0, recordedChars), own: text.slice(recordedChars).replace(/^\s+/, '') };
}

/** The whole text, as a person reads it; may be empty. */
export function partialText({ recorded, own }: PartialAnswer): string {
  return joined(recorded, own.trim());
}

/** The partial answer of one attempt at a message. */
export class Speech {
  readonly #turn: Turn;
  #answer: PartialAnswer;
  #kept: string;

  constructor(turn: Turn) {
    this.#turn = turn;
    this.#answer = partialAnswerOf(turn);
    this.#kept = partialText(this.#answer);
  }

  get partialAnswer(): PartialAnswer {
    return this.#answer;
  }

  /** Takes the text so far of the running call, if it is longer than before and no mere whitespace. */
  hear(text: string): void {
    if (text.trim() !== '' && text.length > this.#answer.own.length) this.#answer = { ...this.#answer, own: text };
  }

  /** The changes to store with the record of an answer, which has this text. */
  record(text: string): Change[] {
    this.#answer = { recorded: joined(this.#answer.recorded, text.trim()), own: '' };
    this.#kept = partialText(this.#answer);
    return this.#kept === '' ? [this.#turn.clearPartialAnswer()] : changesToStore(this.#turn, this.#answer);
  }

  /** Deletes the partial answer: the model has taken it back. Contract: as `keep`. */
  async forget(): Promise<void> {
    this.#answer = { recorded: '', own: '' };
    this.#kept = '';
    await this.#turn.write('', [this.#turn.clearPartialAnswer()]);
  }

  /** Stores the answer before it is seen. Contract: throws `FencedError`, or what Redis throws, also if unchanged. */
  async keep(): Promise<void> {
    const text = partialText(this.#answer);
    if (text === this.#kept) return this.#turn.assertOwned();
    await this.leave();
  }

  /** Stores the partial answer and the time spent, at the end of an attempt without an answer. Contract: as `keep`. */
  async leave(): Promise<void> {
    this.#kept = partialText(this.#answer);
    await this.#turn.write('', [...changesToStore(this.#turn, this.#answer), this.#turn.spend(this.#turn.totalMs())]);
  }
}

/** The changes that store a partial answer; none if it is empty. */
export function changesToStore(turn: Turn, answer: PartialAnswer): Change[] {
  const { recorded } = answer;
  const partial = partialText(answer);
  if (partial === '') return [];
  return [turn.storePartialAnswer({ text: partial.slice(0, SAID_CHARS_MAX), recordedChars: recorded.length })];
}

/**
 * Records a partial answer as the assistant's turn, in the session that keeps the conversation. Only the text: a call
 * or a thought that was cut in its middle would be refused with every later request.
 */
export function changesToRecord({ keys, entry, session, trial }: Turn, { own }: PartialAnswer): Change[] {
  const text = own.toWellFormed().trim();
  if (text === '') return [];
  const record = { v: 1, t: 'assistant', ...newStamp(), entry, content: [{ type: 'text', text }] } as const;
  return append(keys, trial?.of ?? session, [{ ...record, stopReason: null }]);
}

/** The words of an answer: its text, or what the model said last before its tools, or that there is nothing to add. */
export function answerWords(turn: Turn, opened: OpenedSession, { text }: ModelAnswer): string {
  return (text.trim() === '' ? earlierWords(opened, turn) : text) || turn.texts.nothingToAdd;
}

/** The words of an answer with their sources, and with what its user is told in the same message. */
export function answerText(
  turn: Turn,
  opened: OpenedSession,
  answer: ModelAnswer,
  { words, notice }: { words: string; notice: string | undefined },
): string {
  const { texts, unreportedCompactions } = turn;
  return [
    withSources(words, sourcesOf([...ownBlocks(opened, turn), ...answer.content])),
    ...(isCut(answer) ? [texts.cutAnswer] : []),
    ...(unreportedCompactions > 0 ? [`_${texts.compacted(unreportedCompactions)}_`] : []),
    ...(notice === undefined ? [] : [`_${notice}_`]),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/**
 * The sentence about a budget that is nearly used up. A chat's budget is shown as an amount, and so is a person's budget
 * in a private chat. The total budget, and a person's budget in a group, are shown as a percentage. Pure.
 */
export function nearlyInWords(
  turn: Pick<Turn, 'texts' | 'choice' | 'message'>,
  settings: Pick<TurnSettings, 'TZ'>,
  spent: LimitUsage,
): string {
  const { whose, period } = spent.limit;
  const { budget } = turn.texts;
  const again = { atMs: spent.againMs, timeZone: timeZoneOf(turn, settings) };
  if (spent.isUsedUp) return budget.usedUp(whose, period, again);
  const isPrivate = turn.message.ok && turn.message.value.chatType === 'private';
  const areTheirs = whose === 'chat' || (whose === 'person' && isPrivate);
  const share = areTheirs ? spentInWords(spent, budget.share) : `${percentOf(spent)}%`;
  return budget.nearly(whose, period, share, again);
}

/** Whether the answer ended because there was no more room for it. */
export function isCut({ stopReason }: ModelAnswer): boolean {
  return stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded';
}

/** The blocks of an answer without a call that was cut in the middle of its input. */
export function wholeBlocks(answer: ModelAnswer): readonly Block[] {
  const { content } = answer;
  return isCut(answer) && content.at(-1)?.type.endsWith('tool_use') ? content.slice(0, -1) : content;
}

/** Whether the model is not done: it paused, or called tools, whatever its stop reason says. */
export function goesOn(
  answer: ModelAnswer,
  round: number,
  { TOOL_ROUNDS_MAX }: Pick<TurnSettings, 'TOOL_ROUNDS_MAX'>,
): boolean {
  return round < TOOL_ROUNDS_MAX && (answer.stopReason === 'pause_turn' || hasCalls(wholeBlocks(answer)));
}

/** Whether the content of an answer calls a tool. */
export function hasCalls(content: AssistantRecord['content']): boolean {
  return typeof content !== 'string' && content.some(({ type }) => type === 'tool_use');
}

/** The blocks that the model wrote earlier for this message, tool calls included. */
function ownBlocks({ window }: OpenedSession, { entry }: Turn): Block[] {
  return window.records.flatMap((record) =>
    record.t === 'assistant' && record.entry === entry && typeof record.content !== 'string' ? record.content : [],
  );
}

/**
 * The last text that the model wrote for this message before it called tools: it may have nothing to add after them.
 */
export function earlierWords({ window }: OpenedSession, { entry }: Turn): string {
  const own = window.records.filter((record) => record.t === 'assistant' && record.entry === entry);
  const texts = (own as AssistantRecord[]).map(({ content }) => textOf(content).trim());
  return texts.findLast((text) => text !== '') ?? '';
}

function joined(before: string, after: string): string {
  return [before, after].filter((text) => text !== '').join('\n\n');
}
