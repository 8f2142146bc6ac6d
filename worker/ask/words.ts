import type { Change } from '../../shared/state/change.ts';
import { type LimitUsage, percentOf, spentInWords } from '../../shared/state/spending/limit.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { type TurnSettings, timeZoneOf } from '../lane/turn-settings.ts';
import type { Block } from '../model/block.ts';
import type { ModelAnswer } from '../model/port.ts';
import { sourcesOf, withSources } from '../reply/sources.ts';
import type { LoadedSession } from '../session/held-window.ts';
import { type AssistantRecord, hasCalls, newStamp, textOf } from '../session/record.ts';
import { append } from '../session/store.ts';

/**
 * The model's text for a message before the answer is complete. The turn stores the text before a person sees any of it, so
 * that the text outlives the process and can be delivered if no answer comes.
 */
export interface PartialAnswer {
  /** The text of the answers that the session's log already contains, up to the last recorded round of tools. */
  recordedText: string;
  /** The text after `recordedText`. If several calls were cut, the longest of their texts. */
  newText: string;
}

/** The maximum length of a stored partial answer, in UTF-16 units. */
const STORED_CHARS_MAX = 500_000;

/** The partial answer that earlier attempts stored with the turn; empty if they stored none. */
export function partialAnswerOf(turn: Turn): PartialAnswer {
  const { text, recordedChars } = turn.partialAnswer;
  return { recordedText: text.slice(0, recordedChars), newText: text.slice(recordedChars).replace(/^\s+/, '') };
}

/** The whole text of a partial answer, for a person to read; may be empty. */
export function partialText({ recordedText, newText }: PartialAnswer): string {
  return joinParagraphs(recordedText, newText.trim());
}

/** The partial answer to a message during one attempt. It continues the text that earlier attempts stored. */
export class Speech {
  readonly #turn: Turn;
  #answer: PartialAnswer;
  #storedText: string;

  constructor(turn: Turn) {
    this.#turn = turn;
    this.#answer = partialAnswerOf(turn);
    this.#storedText = partialText(this.#answer);
  }

  get partialAnswer(): PartialAnswer {
    return this.#answer;
  }

  /** Replaces `newText` with the text of the running call, if the latter is longer and not only white space. */
  update(text: string): void {
    if (text.trim() !== '' && text.length > this.#answer.newText.length)
      this.#answer = { ...this.#answer, newText: text };
  }

  /** Appends the text of an answer that is about to be recorded. Returns changes for the write that records the answer. */
  record(text: string): Change[] {
    this.#answer = { recordedText: joinParagraphs(this.#answer.recordedText, text.trim()), newText: '' };
    this.#storedText = partialText(this.#answer);
    return this.#storedText === '' ? [this.#turn.clearPartialAnswer()] : changesToStore(this.#turn, this.#answer);
  }

  /** Deletes the partial answer after the model declined to answer. Contract: as `store`. */
  async forget(): Promise<void> {
    this.#answer = { recordedText: '', newText: '' };
    this.#storedText = '';
    await this.#turn.write('', [this.#turn.clearPartialAnswer()]);
  }

  /** Stores the partial answer, if changed, before a draft shows it. Contract: throws `FencedError`, or what Redis throws. */
  async store(): Promise<void> {
    const text = partialText(this.#answer);
    if (text === this.#storedText) return this.#turn.assertOwned();
    await this.storeAtEnd();
  }

  /** Stores the partial answer, and the time that the turn has spent so far. Contract: as `store`. */
  async storeAtEnd(): Promise<void> {
    this.#storedText = partialText(this.#answer);
    await this.#turn.write('', [...changesToStore(this.#turn, this.#answer), this.#turn.spend(this.#turn.totalMs())]);
  }
}

/** The changes that store a partial answer; none if it is empty. */
export function changesToStore(turn: Turn, answer: PartialAnswer): Change[] {
  const partial = partialText(answer);
  if (partial === '') return [];
  const recordedChars = answer.recordedText.length;
  return [turn.storePartialAnswer({ text: partial.slice(0, STORED_CHARS_MAX), recordedChars })];
}

/**
 * The changes that record a partial answer's `newText` as an answer in the chat's own session; none if that text is blank.
 * The record has no calls and no thinking, since an incomplete block would make the endpoint refuse every later request.
 */
export function changesToRecord({ keys, entry, session, trial }: Turn, { newText }: PartialAnswer): Change[] {
  const text = newText.toWellFormed().trim();
  if (text === '') return [];
  const record = { v: 1, t: 'assistant', ...newStamp(), entry, content: [{ type: 'text', text }] } as const;
  return append(keys, trial?.of ?? session, [{ ...record, stopReason: null }]);
}

/** The answer's text; if blank, the last text of the model's earlier answers to this message; without any, `nothingToAdd`. */
export function answerWords(turn: Turn, loadedSession: LoadedSession, { text }: ModelAnswer): string {
  return (text.trim() === '' ? earlierWords(loadedSession, turn) : text) || turn.texts.nothingToAdd;
}

/** The words of an answer with their sources, and then notices about a cut answer, compactions and the budget, if any. */
export function answerText(
  turn: Turn,
  loadedSession: LoadedSession,
  answer: ModelAnswer,
  { words, notice }: { words: string; notice: string | undefined },
): string {
  const { texts, unreportedCompactions } = turn;
  return [
    withSources(words, sourcesOf([...earlierBlocks(loadedSession, turn), ...answer.content])),
    ...(isCut(answer) ? [texts.cutAnswer] : []),
    ...(unreportedCompactions > 0 ? [`_${texts.compacted(unreportedCompactions)}_`] : []),
    ...(notice === undefined ? [] : [`_${notice}_`]),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/**
 * The notice that a budget is used up, or nearly so. A notice of the latter kind states an amount only if its readers are those
 * who share the budget: for a chat's, and for a person's in a private chat. Other notices state a percentage. Pure.
 */
export function budgetNotice(
  turn: Pick<Turn, 'texts' | 'choice' | 'message'>,
  settings: Pick<TurnSettings, 'TZ'>,
  spent: LimitUsage,
): string {
  const { whose, period } = spent.limit;
  const { budget } = turn.texts;
  const again = { atMs: spent.againMs, timeZone: timeZoneOf(turn, settings) };
  if (spent.isUsedUp) return budget.usedUp(whose, period, again);
  const isPrivate = turn.message.ok && turn.message.value.chatType === 'private';
  const mayShowAmount = whose === 'chat' || (whose === 'person' && isPrivate);
  const share = mayShowAmount ? spentInWords(spent, budget.share) : `${percentOf(spent)}%`;
  return budget.nearly(whose, period, share, again);
}

/** Whether the answer ended at the output limit or the end of the window. */
export function isCut({ stopReason }: ModelAnswer): boolean {
  return stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded';
}

/** The blocks of an answer. If the answer was cut, omits a call at its end, whose input may be incomplete. */
export function wholeBlocks(answer: ModelAnswer): readonly Block[] {
  const { content } = answer;
  return isCut(answer) && content.at(-1)?.type.endsWith('tool_use') ? content.slice(0, -1) : content;
}

/**
 * Whether the conversation with the model goes on: the model paused, or the answer has complete tool calls, even if its
 * stop reason is not `tool_use`. False once the limit of rounds is reached.
 */
export function isUnfinished(answer: ModelAnswer, round: number, roundsMax: number): boolean {
  return round < roundsMax && (answer.stopReason === 'pause_turn' || hasCalls(wholeBlocks(answer)));
}

/** The blocks of the model's earlier answers to this message, tool calls included. */
function earlierBlocks({ window }: LoadedSession, { entry }: Turn): Block[] {
  return window.records.flatMap((record) =>
    record.t === 'assistant' && record.entry === entry && typeof record.content !== 'string' ? record.content : [],
  );
}

/** The last text in the model's earlier answers to this message; empty if there is none. */
export function earlierWords({ window }: LoadedSession, { entry }: Turn): string {
  const answers = window.records.filter((record) => record.t === 'assistant' && record.entry === entry);
  const texts = (answers as AssistantRecord[]).map(({ content }) => textOf(content).trim());
  return texts.findLast((text) => text !== '') ?? '';
}

function joinParagraphs(first: string, second: string): string {
  return [first, second].filter((text) => text !== '').join('\n\n');
}
