import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentWith } from '../../fixture/environment.ts';
import { oneLine } from './check.ts';
import { findTools, type ToolName } from './tool.ts';

/**
 * The versions that were tried, which are those of the compose file as far as Go's module proxy has them. Jaeger's second
 * line is in the last module of its first.
 */
const PROMETHEUS = { module: 'github.com/prometheus/prometheus', tag: 'v0.313.1', version: '3.13.1' };
const ALERTMANAGER = { module: 'github.com/prometheus/alertmanager', tag: 'v0.34.2', version: '0.34.2' };
const JAEGER = { module: 'github.com/jaegertracing/jaeger', tag: 'v1.76.0', version: '2.13.0' };
const COLLECTOR_VERSION = '0.159.0';

const BUILD_MS = 3_600_000;
const OUTPUT_BYTES_MAX = 20_000_000;
const run = promisify(execFile);

/** Nothing of a workspace around this project; what a module needs is what its own file says. */
const env = environmentWith({ GOWORK: 'off', GOFLAGS: '-mod=readonly' });

/** How what is missing is built. */
const RECIPES: readonly { makes: readonly ToolName[]; build(bin: string, work: string): Promise<void> }[] = [
  {
    makes: ['promtool', 'prometheus'],
    build: async (bin) =>
      buildIn(await moduleFolder(PROMETHEUS), bin, ['./cmd/promtool', './cmd/prometheus'], PROMETHEUS),
  },
  {
    makes: ['amtool', 'alertmanager'],
    async build(bin, work) {
      // The module lacks the built page, without which it does not compile; an empty one serves.
      const copy = join(work, 'alertmanager');
      await cp(await moduleFolder(ALERTMANAGER), copy, { recursive: true, mode: 0 });
      await run('chmod', ['-R', 'u+w', copy]);
      await mkdir(join(copy, 'ui', 'app', 'dist'), { recursive: true });
      await writeFile(join(copy, 'ui', 'app', 'dist', 'index.html'), '');
      await buildIn(copy, bin, ['./cmd/alertmanager', './cmd/amtool'], ALERTMANAGER);
    },
  },
  { makes: ['otelcol'], build: buildCollector },
  { makes: ['jaeger'], build: async (bin) => buildIn(await moduleFolder(JAEGER), bin, ['./cmd/jaeger'], JAEGER) },
];

/** Builds what is missing in a folder. What cannot be built is told, and the rest goes on. */
export async function buildTools(bin: string, say: (line: string) => void): Promise<void> {
  await mkdir(bin, { recursive: true });
  const there = findTools([bin]);
  for (const { makes, build } of RECIPES.filter((recipe) => recipe.makes.some((name) => there[name] === undefined))) {
    say(`Building ${makes.join(' and ')} ...`);
    const work = await mkdtemp(join(tmpdir(), 'spillway-build-'));
    await build(bin, work).catch((error: Error) =>
      say(`${makes.join(' and ')} cannot be built: ${oneLine(error.message)}`),
    );
    await rm(work, { recursive: true, force: true });
  }
}

interface Module {
  module: string;
  tag: string;
  version: string;
}

/** Where Go keeps a module, fetched if need be. */
async function moduleFolder({ module, tag }: Module): Promise<string> {
  const { stdout } = await go(['mod', 'download', '-json', `${module}@${tag}`], tmpdir(), '-mod=mod');
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

/** Built inside the module: its own file has replacements, which `go install` refuses. */
async function buildIn(folder: string, bin: string, packages: readonly string[], { version }: Module): Promise<void> {
  const stamp = `-X github.com/prometheus/common/version.Version=${version} -X github.com/jaegertracing/jaeger/internal/version.latestVersion=v${version}`;
  await go(['build', '-ldflags', stamp, '-o', `${bin}/`, ...packages], folder, '-mod=readonly');
}

/** A collector with the components that our file names, and no others. */
async function buildCollector(bin: string, work: string): Promise<void> {
  const version = `v${COLLECTOR_VERSION}`;
  const contrib = 'github.com/open-telemetry/opentelemetry-collector-contrib';
  const core = 'go.opentelemetry.io/collector';
  const manifest = {
    dist: {
      name: 'otelcol',
      module: 'spillway.test/otelcol',
      version: COLLECTOR_VERSION,
      output_path: join(work, 'out'),
    },
    receivers: [{ gomod: `${core}/receiver/otlpreceiver ${version}` }],
    processors: [
      { gomod: `${core}/processor/memorylimiterprocessor ${version}` },
      { gomod: `${contrib}/processor/tailsamplingprocessor ${version}` },
    ],
    connectors: [{ gomod: `${contrib}/connector/spanmetricsconnector ${version}` }],
    exporters: [
      { gomod: `${core}/exporter/otlpexporter ${version}` },
      { gomod: `${core}/exporter/debugexporter ${version}` },
      { gomod: `${contrib}/exporter/prometheusexporter ${version}` },
    ],
  };
  await writeFile(join(work, 'manifest.yaml'), JSON.stringify(manifest));
  await run('go', ['install', `${core}/cmd/builder@${version}`], {
    ...OPTIONS,
    env: { ...env, GOBIN: work, GOFLAGS: '-mod=mod' },
  });
  const builder = join(work, 'builder');
  await run(builder, ['--config', join(work, 'manifest.yaml'), '--skip-compilation'], {
    ...OPTIONS,
    env: { ...env, GOFLAGS: '' },
  });
  await go(['build', '-o', join(bin, 'otelcol'), '.'], join(work, 'out'), '-mod=mod');
}

const OPTIONS = { timeout: BUILD_MS, maxBuffer: OUTPUT_BYTES_MAX } as const;

function go(args: readonly string[], cwd: string, flags: string) {
  return run('go', [...args], { ...OPTIONS, cwd, env: { ...env, GOFLAGS: flags } });
}
