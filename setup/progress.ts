import type { BotProfile, Telegram } from '../shared/telegram/client.ts';
import type { Finding } from '../worker/cli/finding.ts';
import type { Terminal } from './terminal.ts';

/** Values of settings by their names. */
export type Values = Readonly<Record<string, string | undefined>>;

/** The steps of a setup, in their order. */
export const STEPS = ['bot', 'owner', 'alerts', 'pairing', 'watchers', 'model', 'zone', 'save', 'greeting'] as const;
export type Step = (typeof STEPS)[number];

/** The state of a setup. */
export interface Progress {
  /** The values in the settings file at the start. */
  readonly file: Values;
  /**
   * The values of the file, then those of this process's environment, then the answers; a later value replaces an earlier one.
   */
  readonly values: Values;
  readonly answers: Values;
  readonly done: readonly Step[];
  readonly bot?: BotProfile | undefined;
  /** The id of the bot's owner, which is also that of the owner's private chat. */
  readonly ownerId?: number | undefined;
  /** The language of the owner's Telegram app. */
  readonly language?: string | undefined;
}

type Findings = { readonly answers?: Values } & Partial<Pick<Progress, 'bot' | 'ownerId' | 'language'>>;

/** The state at the start, from the settings file and the environment. Pure. */
export function begin(file: Values, environment: Values): Progress {
  const overrides = Object.entries(environment).filter(([, value]) => value?.trim());
  return { file, values: { ...file, ...Object.fromEntries(overrides) }, answers: {}, done: [] };
}

/**
 * The next step; `undefined` after the last one. Skips `save` if nothing changes. Skips `greeting` if the file had a bot at the
 * start, or if no owner is known. Pure.
 */
export function nextStep(progress: Progress): Step | undefined {
  return STEPS.find((step) => {
    if (progress.done.includes(step)) return false;
    if (step === 'greeting') return !progress.file.TELEGRAM_BOT_TOKEN && progress.ownerId !== undefined;
    return step !== 'save' || changesOf(progress).size > 0;
  });
}

/** Adds the findings of a step to the progress, and marks the step as done. Pure. */
export function advance(progress: Progress, step: Step, { answers = {}, ...facts }: Findings): Progress {
  return {
    ...progress,
    ...facts,
    values: { ...progress.values, ...answers },
    answers: { ...progress.answers, ...answers },
    done: [...progress.done, step],
  };
}

/** The answers that differ from the file. Pure. */
export function changesOf({ file, answers }: Progress): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(answers).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== (file[entry[0]] ?? ''),
    ),
  );
}

/** The names of answers that a different value in this terminal's environment overrides. Pure. */
export function findOverrides(progress: Progress, environment: Values): string[] {
  const later: Values = { ...progress.file, ...progress.answers };
  return Object.keys(progress.answers).filter((name) => (environment[name] ?? later[name]) !== later[name]);
}

/** The ports through which the steps reach the person, Telegram, the model, a running gateway and the settings file. */
export interface SetupPorts {
  terminal: Terminal;
  /** A client for the bot of these settings. */
  connect(values: Values): Telegram;
  /** Makes one small call to the model of these settings. Contract: never throws. */
  tryModel(values: Values): Promise<Finding>;
  /** Whether a running gateway receives the messages of the bot of these settings. Contract: never throws. */
  isReceived(values: Values): Promise<boolean>;
  /** Lets a person use the running gateway at once; false if that fails. Contract: never throws. */
  letIn(values: Values, id: number): Promise<boolean>;
  save(changes: ReadonlyMap<string, string>): Promise<void>;
  /** Aborts when SIGINT, SIGTERM or SIGHUP ends the setup. */
  signal: AbortSignal;
  /** The path of the settings file. */
  file: string;
}

/** One step of a setup. Throws `CancelledError` when the person ends the setup. Only `save` writes the settings file. */
export type RunStep = (ports: SetupPorts, progress: Progress) => Promise<Findings>;
