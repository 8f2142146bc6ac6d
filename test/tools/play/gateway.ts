import { createWriteStream } from 'node:fs';
import { spawnRunning } from '../../fixture/process.ts';

/** The gateway of a play, as a process that can be killed and that begins again. */
export interface PlayedGateway {
  /** Kills the process at once, as a power cut would, and starts another. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

let pid: number | undefined;

/** Starts a gateway with these settings. Its log goes to the file. Rejects with the log if it does not start. */
export async function startPlayedGateway(env: Record<string, string>, logFile: string): Promise<PlayedGateway> {
  const log = createWriteStream(logFile, { flags: 'a' });
  const start = () =>
    spawnRunning('spillway.ts', env, {
      onSpawn: (started) => {
        pid = started;
      },
      onLine: (line) => log.write(`${line}\n`),
    });
  let gateway = await start();
  return {
    async restart() {
      gateway.kill('SIGKILL');
      await gateway.ended;
      gateway = await start();
    },
    async stop() {
      await gateway.stop();
      pid = undefined;
    },
  };
}

/** Kills a gateway that still runs. For the end of this process, which may not wait for a stop. */
export function killPlayedGateway(): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
