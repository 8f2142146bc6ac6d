import { type ParseArgsConfig, parseArgs } from 'node:util';
import { PROJECT_ROOT, refuse } from '../../shared/base/project.ts';
import { programPath } from '../../shared/base/settings.ts';
import { type FoundRedisServer, findRedisServer } from '../../shared/private-redis/install.ts';
import { offerRedisServer } from '../fixture/redis.ts';

type Options = NonNullable<ParseArgsConfig['options']>;
/** The values of a tool's options. */
export type Values<Given extends Options> = ReturnType<typeof parseArgs<{ options: Given }>>['values'];

/** Prints a line. */
export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Why a tool does not run: a mistake in its call, or something that this machine lacks. */
export class Refusal extends Error {}

/**
 * Runs a tool of the command line with its options. Prints the help for `--help`. An unknown option, or a `Refusal` that `run`
 * throws, is printed, and the exit code is 2. `cleanUp` is called at the end of the process, also after Ctrl-C, and may not
 * wait for anything.
 */
export async function runTool<Given extends Options>(
  help: string,
  options: Given,
  run: (values: Values<Given>) => Promise<void>,
  cleanUp?: () => void,
): Promise<void> {
  if (cleanUp) {
    process.once('exit', cleanUp);
    // npm passes a signal on, so it may come twice: the second one must not end the cleaning up.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
  }
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean' } } });
    if ((values as { help?: boolean }).help === true) say(help);
    else await run(values as Values<Given>);
  } catch (error) {
    const isRefused =
      error instanceof Refusal || String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS');
    if (!isRefused) throw error;
    refuse([(error as Error).message]);
  }
}

/** Progress is no output of a tool. */
const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);

/** Finds the Redis server that this process and its children use. Throws a `Refusal` where this machine has none. */
export async function findRedis(): Promise<FoundRedisServer> {
  const server = await findRedisServer({ root: PROJECT_ROOT, path: programPath(), onProgress });
  if (!server.ok) throw new Refusal(server.problem);
  offerRedisServer(server);
  return server;
}
