import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { searchPath } from '../../fixture/environment.ts';

/** A real LiteLLM proxy on loopback. */
export interface LiteLlm {
  readonly url: string;
  /** The only key that it takes. */
  readonly key: string;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it, on the same port. Resolves when it answers. */
  start(): Promise<void>;
  /** Kills it without waiting, for the end of this process. */
  abandon(): void;
}

/** What the proxy's guardrail does not let through. */
export const BANNED_WORD = 'quicksilver';
/** Models of the proxy for single calls: LiteLLM rests a model after a failure, and theirs must not disturb the chats. */
export const PROBES = Array.from({ length: 8 }, (_, index) => `claude-probe-${index + 1}`);

const KEY = 'sk-peers';
const STARTING_MS = 90_000;
const LOOK_MS = 100;

/** Sets one up before that upstream, with files in `folder`; it does not run yet. */
export async function setUpLiteLlm(brought: string, folder: string, upstream: string, model: string): Promise<LiteLlm> {
  await mkdir(folder, { recursive: true });
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify(configuration(upstream, [model, ...PROBES])));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'];
  let child: ChildProcess | undefined;
  const end = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return {
    url,
    key: KEY,
    kill: end,
    async start() {
      const log = createWriteStream(join(folder, 'log'), { flags: 'a' });
      child = spawn(join(brought, 'bin', 'litellm'), args, { cwd: folder, env: environment(folder), stdio: 'pipe' });
      for (const output of [child.stdout, child.stderr]) output?.pipe(log, { end: false });
      await untilAlive(url, child);
    },
    abandon: () => void child?.kill('SIGKILL'),
  };
}

/** JSON is YAML, too. The guardrail is one that LiteLLM ships. */
function configuration(upstream: string, models: readonly string[]): object {
  return {
    model_list: models.map((name) => ({
      model_name: name,
      litellm_params: { model: `anthropic/${name}`, api_base: upstream, api_key: 'stand-in' },
    })),
    general_settings: { master_key: KEY },
    guardrails: [
      {
        guardrail_name: 'banned-words',
        litellm_params: {
          guardrail: 'litellm_content_filter',
          mode: 'pre_call',
          default_on: true,
          blocked_words: [{ keyword: BANNED_WORD, action: 'BLOCK' }],
        },
      },
    ],
  };
}

/** Nothing of our environment, and nothing that it would fetch from elsewhere. */
function environment(folder: string): NodeJS.ProcessEnv {
  return { PATH: searchPath(), HOME: folder, LITELLM_LOCAL_MODEL_COST_MAP: 'True', PYTHONUNBUFFERED: '1' };
}

async function untilAlive(url: string, child: ChildProcess): Promise<void> {
  for (const deadline = performance.now() + STARTING_MS; performance.now() < deadline; await pause(LOOK_MS)) {
    if (child.exitCode !== null) throw new Error(`LiteLLM ended with ${child.exitCode}; its log is beside its config.`);
    const answer = await fetch(`${url}/health/liveliness`).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error('LiteLLM does not start; its log is beside its config.');
}

/** A port that is free now; nobody else on this machine is expected to take it meanwhile. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
