import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { BARE_ENV } from '../../fixture/environment.ts';

/** The gateway of a play, as a process that can be killed and that begins again. */
export interface PlayedGateway {
  /** Kills the process at once, as a power cut would, and starts another. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a gateway with these settings. Its log goes to the file. */
export function startPlayedGateway(env: Readonly<Record<string, string>>, logFile: string): PlayedGateway {
  const log = createWriteStream(logFile, { flags: 'a' });
  const start = () => {
    const args = ['--disable-warning=ExperimentalWarning', join(PROJECT_ROOT, 'spillway.ts')];
    const started = spawn(process.execPath, args, {
      env: { ...BARE_ENV, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    started.stderr.pipe(log, { end: false });
    return started;
  };
  let child = start();
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  return {
    async restart() {
      await kill('SIGKILL');
      child = start();
    },
    stop: () => kill('SIGTERM'),
  };
}
