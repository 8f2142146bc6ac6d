import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { searchPath } from '../../fixture/environment.ts';
import { freePort } from '../../fixture/free-port.ts';
import { type Daemon, startDaemon } from '../verify/daemon.ts';

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

/** Sets one up before that upstream, with files in `folder`; it does not run yet. */
export async function setUpLiteLlm(brought: string, folder: string, upstream: string, model: string): Promise<LiteLlm> {
  await mkdir(folder, { recursive: true });
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify(configuration(upstream, [model, ...PROBES])));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False'];
  let daemon: Daemon | undefined;
  return {
    url,
    key: KEY,
    kill: async () => daemon?.kill(),
    async start() {
      daemon = await startDaemon({
        name: 'LiteLLM',
        file: join(brought, 'bin', 'litellm'),
        args,
        cwd: folder,
        env: environment(folder),
        readyUrl: `${url}/health/liveliness`,
        logFile: join(folder, 'log'),
      });
    },
    abandon: () => daemon?.abandon(),
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
