import type { Failpoint } from '../../shared/base/failpoint.ts';
import { type GatewayProcess, spawnRunning } from '../fixture/process.ts';

/** The gateways of a world: processes that run, die and are replaced. */
export interface Fleet {
  /** The gateways that were started and not ended, oldest first. */
  readonly running: readonly GatewayProcess[];
  /** Starts one. Rejects when it ends before it runs. */
  start(env?: Record<string, string>): Promise<GatewayProcess>;
  /**
   * Starts one that kills itself when it first reaches a step, and resolves when it has ended, or when `enough` resolves:
   * a step that was done once may not be reached again. Answers whether it died.
   */
  startDoomed(step: Failpoint, enough: Promise<unknown>): Promise<boolean>;
  /** SIGKILL; resolves when the process is gone. */
  kill(gateway: GatewayProcess): Promise<void>;
  /** SIGTERM, and SIGKILL if it does not end in time. */
  retire(gateway: GatewayProcess): Promise<void>;
  /** Ends all. */
  stop(): Promise<void>;
  /** Kills all at once, without waiting: for the end of this process. */
  abandon(): void;
}

const GATEWAY = 'test/fixture/gateway-process.ts';
const ENDED_EARLY = /the gateway ended \(SIGKILL\)/;

/** The gateways of a world that `env` points at. None runs yet. `program` is the root that each of them runs. */
export function createFleet(env: Readonly<Record<string, string>>, program = GATEWAY): Fleet {
  const running: GatewayProcess[] = [];
  const pids = new Set<number>();
  const spawn = async (more: Record<string, string>): Promise<GatewayProcess> => {
    let pid = 0;
    const onSpawn = (spawned: number): void => {
      pid = spawned;
      pids.add(spawned);
    };
    try {
      const gateway = await spawnRunning(program, { ...env, LOG_LEVEL: 'info', ...more }, { onSpawn });
      running.push(gateway);
      void gateway.ended.then(() => {
        pids.delete(gateway.pid);
        const at = running.indexOf(gateway);
        if (at >= 0) running.splice(at, 1);
      });
      return gateway;
    } catch (error) {
      pids.delete(pid);
      throw error;
    }
  };
  const kill = async (gateway: GatewayProcess): Promise<void> => {
    gateway.kill('SIGKILL');
    await gateway.ended;
  };
  return {
    running,
    start: (more = {}) => spawn(more),
    async startDoomed(step, enough) {
      const doomed = await spawn({ SPILLWAY_FAIL_AT: `${step}:1` }).catch((error: Error) => {
        // A message that was waiting can kill it before it says that it runs.
        if (ENDED_EARLY.test(error.message)) return undefined;
        throw error;
      });
      if (doomed === undefined) return true;
      const died = await Promise.race([doomed.ended.then(() => true), enough.then(() => false)]);
      if (!died) await kill(doomed);
      return died;
    },
    kill,
    retire: (gateway) => gateway.stop(),
    async stop() {
      await Promise.all([...running].map(thawAndStop));
    },
    abandon() {
      for (const pid of pids) killIfThere(pid);
    },
  };
}

/** One that is frozen would not hear that it is to end. */
function thawAndStop(gateway: GatewayProcess): Promise<void> {
  gateway.kill('SIGCONT');
  return gateway.stop();
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}
