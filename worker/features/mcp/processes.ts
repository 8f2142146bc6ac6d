import { readdirSync, readFileSync } from 'node:fs';
import type { ServerLimits } from './config.ts';

/** Starts a program in a session and process group of its own, so that Ctrl-C in the gateway's terminal does not reach it. */
const APART =
  process.platform === 'darwin' ? ['perl', '-MPOSIX=setsid', '-e', 'setsid; exec @ARGV or exit 127', '--'] : ['setsid'];

/** The environment variable by which the supervisor finds a server's processes, even outside the server's process group. */
const MARK = 'SPILLWAY_TOOL_SERVER';

/**
 * The supervisor: runs a program (`$2` and the rest). On SIGTERM it sends the program SIGTERM, and SIGKILL a second later; on
 * SIGHUP it sends SIGKILL at once. The death of the gateway has the effect of SIGTERM. When the program has ended, the
 * supervisor kills the program's process group, and on Linux every process that has the variable `$1` in its environment, in
 * several rounds, since such processes may be starting others. Then the supervisor kills itself. The supervisor writes nothing:
 * after the gateway's death, a write would end the supervisor.
 */
const SUPERVISE = `
mark=$1; shift
exec 3<&0 4>&1 5>&2 < /dev/null > /dev/null 2>&1
trap 'kill -TERM "-$server"; { sleep 1; kill -KILL "-$server"; } &' TERM
trap 'kill -KILL "-$server"' HUP
env "$mark" "$@" <&3 >&4 2>&5 3<&- 4>&- 5>&- &
server=$!
exec 3<&- 4>&- 5>&-
{ while kill -0 "$PPID"; do sleep 2; done; kill -TERM $$; } &
while kill -0 "$server"; do wait "$server"; done
kill -KILL "-$server"
round=0
while [ "$round" -lt 50 ]; do
  found=$(printf '%s\\n' /proc/[0-9]*/environ | xargs grep -lsFz "$mark")
  [ -n "$found" ] || break
  for file in $found; do pid=\${file#/proc/}; kill -KILL "\${pid%/environ}"; done
  round=$((round + 1))
done
kill -KILL 0`;

/**
 * The words that run a command under a supervisor. When the command ends, the supervisor kills the processes that the command
 * started. `id` is unique to the tool server.
 */
export function supervisedCommand(words: readonly string[], id: string): readonly string[] {
  return [...APART, '/bin/sh', '-c', SUPERVISE, 'sh', `${MARK}=${id}`, ...APART, ...words];
}

/** Sets limits, except where a hard limit is lower. The option for processes is `-u` or `-p`, depending on the shell. */
const LIMIT_SCRIPT =
  '{ ulimit -c 0; ulimit -n "$1"; ulimit -d "$2"; ulimit -u "$3" || ulimit -p "$3"; } 2> /dev/null; shift 3; exec "$@"';

/**
 * How much memory the kernel lets one process map for writing, on top of twice `memoryMb`. Node 26 maps 560 MB at its start and
 * 130 MB more with each thread, and uses little of it. A limit on the address space would fail: WebAssembly reserves 10 GB.
 */
const MAPPED_MB = 4_096;

/**
 * The words that run a command under limits that the kernel enforces: open files, memory that one process maps for writing,
 * and, if the kernel counts the server's processes apart from the gateway's (`isApart`), processes and threads.
 */
export function limitedCommand(words: readonly string[], limits: ServerLimits, isApart: boolean): readonly string[] {
  const { openFiles, memoryMb, processes } = limits;
  const kilobytes = (2 * memoryMb + MAPPED_MB) * 1024;
  const values = [openFiles, kilobytes, isApart ? processes : 'unlimited'].map(String);
  return ['/bin/sh', '-c', LIMIT_SCRIPT, 'sh', ...values, ...words];
}

/**
 * Measures the threads and the memory of a program and its descendants four times a second. Calls `onExcess` with a text that
 * names an exceeded limit. Returns a function that stops the timer. Outside Linux, finds nothing.
 */
export function watchUse(pid: number, limits: ServerLimits, onExcess: (bound: string) => void): () => void {
  const timer = setInterval(() => {
    const { tasks, megabytes } = useOf(pid, limits.processes);
    if (tasks > limits.processes) onExcess(`it runs more than ${limits.processes} processes and threads`);
    else if (megabytes > limits.memoryMb) onExcess(`its processes use more than ${limits.memoryMb} MB of memory`);
  }, 250);
  timer.unref();
  return () => clearInterval(timer);
}

/** The threads and anonymous memory of a program and its descendants. Stops counting beyond `tasksMax` threads. */
function useOf(pid: number, tasksMax: number): { tasks: number; megabytes: number } {
  const pids = new Set([pid]);
  let [tasks, kilobytes] = [0, 0];
  for (const each of pids) {
    try {
      kilobytes += Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1] ?? 0);
      for (const task of readdirSync(`/proc/${each}/task`)) {
        tasks += 1;
        if (tasks > tasksMax) return { tasks, megabytes: kilobytes / 1024 };
        const children = readFileSync(`/proc/${each}/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
        for (const child of children) pids.add(Number(child));
      }
    } catch {
      // The process has ended meanwhile.
    }
  }
  return { tasks, megabytes: kilobytes / 1024 };
}
