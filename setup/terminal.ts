import { confirm, intro, isCancel, log, note, outro, password, select, text } from '@clack/prompts';

/** Somebody ended the setup. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';
}

/** One of some answers. */
export interface Option<T extends string> {
  value: T;
  label: string;
  hint?: string;
}

/** A question whose answer is typed. `faultOf` says what is wrong with an answer, which is then asked for again. */
export interface Question {
  message: string;
  initial?: string | undefined;
  faultOf: (value: string) => string | undefined;
}

/**
 * The person at the terminal.
 *
 * Contract: a question that is cancelled throws `CancelledError`. Texts may hold anything: what could steer a terminal
 * is removed.
 */
export interface Terminal {
  open(title: string): void;
  close(text: string): void;
  say(text: string): void;
  explain(title: string, text: string): void;
  good(text: string): void;
  warn(text: string): void;
  ask(question: Question): Promise<string>;
  /** Asks for a secret: it is not shown, and no initial value is offered. */
  askSecret(question: Omit<Question, 'initial'>): Promise<string>;
  confirm(message: string, isYes?: boolean): Promise<boolean>;
  choose<T extends string>(message: string, options: readonly Option<T>[]): Promise<T>;
}

/** A terminal on this process's own streams. When `signal` aborts, the open question is cancelled. */
export function openTerminal(signal: AbortSignal): Terminal {
  const typed = ({ message, faultOf }: Question) => ({
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
      return answered(await text({ ...typed(question), initialValue })).trim();
    },
    askSecret: async (question) => answered(await password({ ...typed(question), clearOnError: true })).trim(),
    confirm: async (message, isYes = true) =>
      answered(await confirm({ message: printable(message), initialValue: isYes, signal })),
    choose: async <T extends string>(message: string, options: readonly Option<T>[]) =>
      answered(await select<string>({ message: printable(message), options: [...options], signal })) as T,
  };
}

function answered<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new CancelledError();
  return answer as Exclude<T, symbol>;
}

function printable(words: string): string {
  return words.replace(/[^\P{C}\n]/gu, '');
}
