import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { freePort } from '../../fixture/free-port.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { type Jaeger, jaegerAt } from './jaeger.ts';
import { type Prometheus, prometheusAt } from './prometheus.ts';
import { alertmanagerSettings, collectorSettings, jaegerSettings, type Ports, prometheusSettings } from './settings.ts';
import { shorterRules } from './shorter.ts';
import type { ToolName, Tools } from './tool.ts';

/** The real programs, with the repository's own files. What could not be found is not there. */
export interface Stack {
  /** Where gateways send spans and metrics; nowhere without a collector. */
  readonly otlpUrl: string | undefined;
  readonly prometheus: Prometheus | undefined;
  readonly jaeger: Jaeger | undefined;
  readonly daemons: Readonly<Partial<Record<ToolName, Daemon>>>;
  close(): Promise<void>;
  abandon(): void;
}

const PORTS = [
  'otlpGrpc',
  'otlpHttp',
  'metrics',
  'collector',
  'prometheus',
  'jaegerOtlp',
  'jaegerQuery',
  'jaegerGrpc',
  'alertmanager',
] as const satisfies readonly (keyof Ports)[];

const read = (...path: string[]): Promise<string> => readFile(join(PROJECT_ROOT, ...path), 'utf8');

/**
 * Starts what there is of the stack, with its files in `folder` and `env` as its environment. What was started when
 * something failed is ended.
 */
export async function startStack(
  tools: Tools,
  folder: string,
  hookUrl: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Stack> {
  const free = new Set<number>();
  while (free.size < PORTS.length) free.add(await freePort());
  const ports = Object.fromEntries(PORTS.map((name, index) => [name, [...free][index]])) as unknown as Ports;
  await writeFiles(folder, ports, hookUrl);
  const daemons: Partial<Record<ToolName, Daemon>> = {};
  const abandon = () => {
    for (const daemon of Object.values(daemons)) daemon.abandon();
  };
  try {
    for (const start of startsOf(folder, ports)) {
      const file = tools[start.name];
      if (file !== undefined) daemons[start.name] = await startDaemon({ ...start, file, env });
    }
  } catch (error) {
    abandon();
    throw error;
  }
  return {
    otlpUrl: daemons.otelcol === undefined ? undefined : `http://127.0.0.1:${ports.otlpHttp}`,
    prometheus: daemons.prometheus && prometheusAt(`http://127.0.0.1:${ports.prometheus}`),
    jaeger: daemons.jaeger && jaegerAt(`http://127.0.0.1:${ports.jaegerQuery}`),
    daemons,
    async close() {
      await Promise.all(Object.values(daemons).map((daemon) => daemon.stop()));
    },
    abandon,
  };
}

async function writeFiles(folder: string, ports: Ports, hookUrl: string): Promise<void> {
  await mkdir(join(folder, 'jaeger'), { recursive: true });
  const files = {
    'collector.yaml': collectorSettings(await read('otel-collector.yaml'), ports),
    'prometheus.yml': prometheusSettings(await read('ops', 'prometheus.yml'), ports),
    'alerts.yml': shorterRules(await read('ops', 'alerts.yml')),
    'jaeger.yaml': jaegerSettings(await read('ops', 'jaeger.yaml'), ports, join(folder, 'jaeger')),
    'alertmanager.yml': alertmanagerSettings(await read('ops', 'alertmanager.yml'), `${hookUrl}/alertmanager`),
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
}

/** In the order in which they need each other. Options are those of the compose file. */
function startsOf(folder: string, ports: Ports) {
  const config = (name: string): string => join(folder, name);
  const at = (port: number, path = ''): string => `http://127.0.0.1:${port}${path}`;
  const starts = [
    { name: 'jaeger', args: [`--config=${config('jaeger.yaml')}`], readyUrl: at(ports.jaegerQuery, '/api/services') },
    {
      name: 'otelcol',
      args: [`--config=${config('collector.yaml')}`],
      readyUrl: at(ports.collector, '/metrics'),
    },
    {
      name: 'alertmanager',
      args: [
        `--config.file=${config('alertmanager.yml')}`,
        `--storage.path=${config('alertmanager')}`,
        '--cluster.listen-address=',
        `--web.listen-address=127.0.0.1:${ports.alertmanager}`,
      ],
      readyUrl: at(ports.alertmanager, '/-/ready'),
    },
    {
      name: 'prometheus',
      args: [
        `--config.file=${config('prometheus.yml')}`,
        `--storage.tsdb.path=${config('tsdb')}`,
        '--enable-feature=created-timestamp-zero-ingestion',
        '--enable-feature=exemplar-storage',
        `--web.listen-address=127.0.0.1:${ports.prometheus}`,
      ],
      readyUrl: at(ports.prometheus, '/-/ready'),
    },
  ] as const;
  return starts.map((start) => ({ ...start, logFile: config(`${start.name}.log`) }));
}
