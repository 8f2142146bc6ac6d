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

/**
 * Shows texts to the person at the terminal, and asks the person questions.
 *
 * Contract: a cancelled question throws `CancelledError`. Texts may contain anything; the terminal removes control characters.
 */
export interface Terminal {
  open(title: string): void;
  close(text: string): void;
  say(text: string): void;
  explain(title: string, text: string): void;
  good(text: string): void;
  warn(text: string): void;
  ask(question: Question): Promise<string>;
  /** Asks for a secret, without printing the answer. */
  askSecret(question: Omit<Question, 'initial'>): Promise<string>;
  confirm(message: string, isYes?: boolean): Promise<boolean>;
  choose<T extends string>(message: string, options: readonly Option<T>[]): Promise<T>;
}

/** A terminal on this process's own streams. When `signal` aborts, the open question is cancelled. */
export function openTerminal(signal: AbortSignal): Terminal {
  const promptOf = ({ message, faultOf }: Question) => ({
    message: printable(message),
    signal,
    validate: (value: string | undefined) => faultOf((value ?? '').trim()),
  });
  return {
    open: (title) => intro(printable(title)),
    close: (words) => outro(printable(words)),
    say: (words) => log.step(printable(words)),
    explain: (title, words) => note(printable(words), printable(title), { format: (line) => line }),
    good: (words) => log.success(printable(words)),
    warn: (words) => log.warn(printable(words)),
    ask: async (question) => {
      const initialValue = question.initial ?? '';
      return answerOf(await text({ ...promptOf(question), initialValue })).trim();
    },
    askSecret: async (question) => answerOf(await password({ ...promptOf(question), clearOnError: true })).trim(),
    confirm: async (message, isYes = true) =>
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
