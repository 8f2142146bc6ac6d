import type { BotProfile, Telegram } from '../shared/telegram/client.ts';
import type { Finding } from '../worker/cli/finding.ts';
import type { Terminal } from './terminal.ts';

/** Values of settings by their names. */
export type Values = Readonly<Record<string, string | undefined>>;

/** The steps of a setup, in their order. */
export const STEPS = ['bot', 'owner', 'alerts', 'watchers', 'model', 'zone', 'save', 'greeting'] as const;
export type Step = (typeof STEPS)[number];

/** How far a setup has come. */
export interface Progress {
  /** The content of the settings file. */
  readonly file: Values;
  /** The same with what this process's environment says instead, and with the answers. */
  readonly values: Values;
  readonly answers: Values;
  readonly done: readonly Step[];
  readonly bot?: BotProfile | undefined;
  /** The private chat of the person who proved to own the bot. */
  readonly ownerId?: number | undefined;
  /** The language of that person's app. */
  readonly language?: string | undefined;
}

/** The findings of a step. */
type Findings = { readonly answers?: Values } & Partial<Pick<Progress, 'bot' | 'ownerId' | 'language'>>;

/** The beginning, from the settings file and the environment. Pure. */
export function begin(file: Values, environment: Values): Progress {
  const given = Object.entries(environment).filter(([, value]) => value?.trim());
  return { file, values: { ...file, ...Object.fromEntries(given) }, answers: {}, done: [] };
}

/**
 * The step that comes next; undefined when all is done. A file that would stay as it is needs no saving, and one that was
 * set up before no greeting. Pure.
 */
export function nextStep(progress: Progress): Step | undefined {
  return STEPS.find((step) => {
    if (progress.done.includes(step)) return false;
    if (step === 'greeting') return !progress.file.TELEGRAM_BOT_TOKEN && progress.ownerId !== undefined;
    return step !== 'save' || changesOf(progress).size > 0;
  });
}

/** Adds what a step found out. Pure. */
export function advance(progress: Progress, step: Step, { answers = {}, ...found }: Findings): Progress {
  return {
    ...progress,
    ...found,
    values: { ...progress.values, ...answers },
    answers: { ...progress.answers, ...answers },
    done: [...progress.done, step],
  };
}

/** The answers that the file does not hold yet. Pure. */
export function changesOf({ file, answers }: Progress): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(answers).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== (file[entry[0]] ?? ''),
    ),
  );
}

/** The names for which the environment of this terminal says something else than the file will say, and wins. Pure. */
export function overruled(progress: Progress, environment: Values): string[] {
  const later: Values = { ...progress.file, ...progress.answers };
  return Object.keys(progress.answers).filter((name) => (environment[name] ?? later[name]) !== later[name]);
}

/** The ports of a step. */
export interface SetupPorts {
  terminal: Terminal;
  /** A client for the bot of these settings. */
  connect(values: Values): Telegram;
  /** Makes one small call of the model of these settings. Contract: never throws. */
  tryModel(values: Values): Promise<Finding>;
  /** Whether a gateway that runs receives the messages of the bot of these settings. Contract: never throws. */
  isReceived(values: Values): Promise<boolean>;
  /** Lets a person use that gateway at once; false where its Redis does not answer. Contract: never throws. */
  letIn(values: Values, id: number): Promise<boolean>;
  save(changes: ReadonlyMap<string, string>): Promise<void>;
  /** Aborts when the setup is to end. */
  signal: AbortSignal;
  /** The settings file. */
  file: string;
}

/** One step of a setup. Throws `CancelledError` when the person ends it; nothing is written before the step `save`. */
export type RunStep = (ports: SetupPorts, progress: Progress) => Promise<Findings>;
