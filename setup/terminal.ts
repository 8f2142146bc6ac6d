import { confirm, intro, isCancel, log, note, outro, password, select, text } from '@clack/prompts';

/** Thrown when the person ends the setup. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';
}

/** One of the answers to choose from. */
export interface Option<T extends string> {
  value: T;
  label: string;
  hint?: string;
}

/** A question with a typed answer. If `faultOf` returns a fault, the terminal shows the fault and waits for another answer. */
export interface Question {
  message: string;
  initial?: string | undefined;
  faultOf: (value: string) => string | undefined;
}

export type Terminal = ReturnType<typeof openTerminal>;

/**
 * Shows texts to the person at the terminal, on this process's own streams, and asks the person questions. When `signal` aborts,
 * the open question is cancelled.
 *
 * Contract: a cancelled question throws `CancelledError`. Texts may contain anything; the terminal removes control characters.
 */
export function openTerminal(signal: AbortSignal) {
  const promptOf = ({ message, faultOf }: Question) => ({
    message: printable(message),
    signal,
    validate: (value: string | undefined) => faultOf((value ?? '').trim()),
  });
  return {
    open: (title: string) => intro(printable(title)),
    close: (words: string) => outro(printable(words)),
    say: (words: string) => log.step(printable(words)),
    explain: (title: string, words: string) => note(printable(words), printable(title), { format: (line) => line }),
    good: (words: string) => log.success(printable(words)),
    warn: (words: string) => log.warn(printable(words)),
    ask: async (question: Question) => {
      return answerOf(await text({ ...promptOf(question), initialValue: question.initial ?? '' })).trim();
    },
    /** Asks for a secret, without printing the answer. */
    askSecret: async (question: Omit<Question, 'initial'>) =>
      answerOf(await password({ ...promptOf(question), clearOnError: true })).trim(),
    confirm: async (message: string, isYes = true) =>
      answerOf(await confirm({ message: printable(message), initialValue: isYes, signal })),
    choose: async <T extends string>(message: string, options: readonly Option<T>[]) =>
      answerOf(await select<string>({ message: printable(message), options: [...options], signal })) as T,
  };
}

function answerOf<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new CancelledError();
  return answer as Exclude<T, symbol>;
}

function printable(words: string): string {
  return words.replace(/[^\P{C}\n]/gu, '');
}
