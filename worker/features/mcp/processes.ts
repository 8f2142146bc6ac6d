import { readdirSync, readFileSync } from 'node:fs';
import type { ServerLimits } from './config.ts';

/** Starts a program in its own session and process group. Ctrl-C in the gateway's terminal does not reach it. */
const APART =
  process.platform === 'darwin' ? ['perl', '-MPOSIX=setsid', '-e', 'setsid; exec @ARGV or exit 127', '--'] : ['setsid'];

/** The variable that marks all processes of one server, also those that leave its process group. */
const MARK = 'SPILLWAY_TOOL_SERVER';

/**
 * Runs a program (`$2` and the rest). When the program ends, the supervisor ends all that the program started, and itself. On
 * SIGTERM it sends the program SIGTERM, and SIGKILL a second later; on SIGHUP it sends SIGKILL at once. The death of the
 * gateway has the effect of SIGTERM. At the end it kills every process that has the variable `$1` in its environment, in
 * several rounds, since such processes may be starting others. It writes nothing: without the gateway a write would end it.
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

/** The words of a command under a supervisor, which ends all that the command started. `id` is the server's own. */
export function supervisedCommand(words: readonly string[], id: string): readonly string[] {
  return [...APART, '/bin/sh', '-c', SUPERVISE, 'sh', `${MARK}=${id}`, ...APART, ...words];
}

/** Keeps limits that are lower already. The letter for processes differs between shells. */
const LIMITED =
  '{ ulimit -c 0; ulimit -n "$1"; ulimit -d "$2"; ulimit -u "$3" || ulimit -p "$3"; } 2> /dev/null; shift 3; exec "$@"';

/**
 * The memory that the kernel lets one process map for writing, beyond twice its limit. Node 26 maps 560 MB at its start and
 * 130 MB more with each thread, most of which it never uses. The address space is no measure: WebAssembly reserves 10 GB.
 */
const MAPPED_MB = 4_096;

/**
 * The words of a command that runs under the limits that the kernel holds itself: open files, memory that one process maps
 * for writing, and, where the kernel counts them for the server alone (`ownCount`), processes and threads.
 */
export function limitedCommand(words: readonly string[], limits: ServerLimits, ownCount: boolean): readonly string[] {
  const { openFiles, memoryMb, processes } = limits;
  const kilobytes = (2 * memoryMb + MAPPED_MB) * 1024;
  const values = [openFiles, kilobytes, ownCount ? processes : 'unlimited'].map(String);
  return ['/bin/sh', '-c', LIMITED, 'sh', ...values, ...words];
}

/**
 * Looks four times a second at what a program and its descendants use, and calls `onBeyond` with a limit that they exceed.
 * Returns the function that stops it. Only Linux says what is used.
 */
export function watchUse(pid: number, limits: ServerLimits, onBeyond: (bound: string) => void): () => void {
  const timer = setInterval(() => {
    const { tasks, megabytes } = useOf(pid, limits.processes);
    if (tasks > limits.processes) onBeyond(`it runs more than ${limits.processes} processes and threads`);
    else if (megabytes > limits.memoryMb) onBeyond(`its processes use more than ${limits.memoryMb} MB of memory`);
  }, 250);
  timer.unref();
  return () => clearInterval(timer);
}

/** Counts no further than just beyond `tasksMax`. Files and memory that are shared by intent do not count. */
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
