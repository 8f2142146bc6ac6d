import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentWith } from '../../fixture/environment.ts';
import { LITELLM, MCP_SERVERS } from './versions.ts';

/** Software that is there, or why it is not, in one plain line. */
export type Brought = { ok: true; folder: string } | { ok: false; problem: string };

const BRING_MS = 400_000;
const OUTPUT_BYTES_MAX = 20_000_000;
const LINE_CHARS = 200;
const run = promisify(execFile);

/** A real LiteLLM proxy in a virtual environment of its own. `folder` holds its `bin`. `signal` kills what brings it. */
export async function bringLiteLlm(home: string, signal: AbortSignal): Promise<Brought> {
  const folder = join(home, 'litellm');
  if (existsSync(join(folder, 'brought'))) return { ok: true, folder };
  return brought(folder, 'LiteLLM', async () => {
    await command(signal, 'python3', ['-m', 'venv', folder]);
    await command(signal, join(folder, 'bin', 'python3'), ['-m', 'pip', 'install', '--quiet', LITELLM]);
  });
}

/** The reference MCP servers. `folder` holds their `node_modules`. No script of a package is run. */
export async function bringMcpServers(home: string, signal: AbortSignal): Promise<Brought> {
  const folder = join(home, 'mcp');
  if (existsSync(join(folder, 'brought'))) return { ok: true, folder };
  return brought(folder, 'The MCP servers', async () => {
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: MCP_SERVERS }));
    await command(signal, 'npm', [
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ]);
  });
}

/** A mark is left at the end only: what was left half done is done again. */
async function brought(folder: string, what: string, bring: () => Promise<void>): Promise<Brought> {
  try {
    await mkdir(folder, { recursive: true });
    await bring();
    await writeFile(join(folder, 'brought'), '');
    return { ok: true, folder };
  } catch (error) {
    return { ok: false, problem: `${what} could not be brought: ${complaint(error)}` };
  }
}

function command(signal: AbortSignal, file: string, args: readonly string[]) {
  return run(file, [...args], { timeout: BRING_MS, maxBuffer: OUTPUT_BYTES_MAX, env: environmentWith({}), signal });
}

/** What a command complains of first, without the paths and addresses of this machine. */
function complaint(error: unknown): string {
  const { stderr = '', message = String(error) } = error as { stderr?: string; message?: string };
  const lines = (stderr.trim() || message).split('\n');
  const line = lines.find((each) => /error/i.test(each)) ?? lines[0] ?? '';
  return line.replaceAll(/(?:https?:\/)?\/[^\s:'"]+/g, '…').slice(0, LINE_CHARS);
}
