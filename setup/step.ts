import type { Telegram } from '../shared/telegram/client.ts';
import type { Finding } from '../worker/cli/terminal.ts';
import type { Findings, Progress, Settings } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** What a step works with. */
export interface SetupPorts {
  terminal: Terminal;
  /** A client for the bot of these settings. */
  connect(settings: Settings): Telegram;
  /** Makes one small call of the model of these settings. Contract: never throws. */
  tryModel(settings: Settings): Promise<Finding>;
  save(changes: ReadonlyMap<string, string>): Promise<void>;
  /** Aborts when the setup is to end. */
  signal: AbortSignal;
  /** The settings file. */
  file: string;
}

/** One step of a setup. Throws `CancelledError` when the person ends it; nothing is written before the step `save`. */
export type RunStep = (ports: SetupPorts, progress: Progress) => Promise<Findings>;
