import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../fixture/free-port.ts';

/** The real MCP servers, as a gateway is told of them. */
export interface McpServers {
  /** The file for `MCP_CONFIG`. */
  config: string;
  /** The only folder that the server of files may touch. */
  files: string;
  /** Where the server of memories keeps them. */
  memory: string;
  stop(): Promise<void>;
  abandon(): void;
}

const STARTING_MS = 20_000;

/** Starts the one that speaks HTTP and writes the configuration; the gateway starts the others, which speak stdio. */
export async function setUpMcpServers(brought: string, folder: string): Promise<McpServers> {
  const files = join(folder, 'files');
  const memory = join(folder, 'memory.jsonl');
  await mkdir(files, { recursive: true });
  const port = await freePort();
  const child = spawn(process.execPath, [...preload(), entry(brought, 'everything'), 'streamableHttp'], {
    cwd: folder,
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await untilListening(child);
  const config = join(folder, 'mcp.json');
  const mcpServers = {
    everything: stdio([entry(brought, 'everything')]),
    filesystem: stdio([entry(brought, 'filesystem'), files]),
    memory: stdio([entry(brought, 'memory')], { MEMORY_FILE_PATH: memory }),
    remote: { type: 'http', url: `http://127.0.0.1:${port}/mcp`, approve: 'never' },
  };
  await writeFile(config, JSON.stringify({ mcpServers }));
  return {
    config,
    files,
    memory,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    abandon: () => void child.kill('SIGKILL'),
  };
}

const stdio = (args: readonly string[], env: Record<string, string> = {}) => ({
  command: process.execPath,
  args,
  env,
  approve: 'never',
});

function entry(brought: string, name: string): string {
  return join(brought, 'node_modules', '@modelcontextprotocol', `server-${name}`, 'dist', 'index.js');
}

function preload(): string[] {
  return ['--disable-warning=ExperimentalWarning', '--import', join(import.meta.dirname, 'loopback-only.ts')];
}

async function untilListening(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => /listening/.test(line) && resolve());
  child.once('exit', (code) => reject(new Error(`the MCP server on HTTP ended with ${code}`)));
  const late = pause(STARTING_MS, undefined, { ref: false }).then(() => {
    throw new Error('the MCP server on HTTP does not start');
  });
  await Promise.race([promise, late]);
}
