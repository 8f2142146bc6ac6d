/**
 * Bundles the gateway's programs: about 800 modules become a few files that Node loads in half the time and with 20 MB
 * less memory (docs/adr/0013). The sources stay what runs where no bundle can be made.
 *
 * Modules that many installations never use stay in node_modules, and are loaded from there when they are first needed.
 * The names of the written files carry a hash of their content, and an older file stays: a running process finds
 * what it has yet to load. `node scripts/bundle.mjs` bundles and starts nothing.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a user starts. */
export const PROGRAMS = ['spillway.ts', 'producer/main.ts', 'worker/main.ts', 'worker/cli/main.ts'];

/**
 * Loaded late: buckets, the console, MCP, exporters. And Telegraf, which uses what Node deprecates: Node says so of every
 * file that is not in node_modules. What decodes pictures and PDFs is in no bundle: the decoder runs from its source.
 */
const LEFT_IN_PLACE = [
  '@aws-sdk/*',
  '@bull-board/*',
  'hono',
  '@hono/*',
  '@modelcontextprotocol/*',
  '@opentelemetry/sdk-*',
  '@opentelemetry/exporter-*',
  'telegraf',
];
/** CommonJS packages ask for Node's own modules by `require`, which an ES module does not have. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;
/** How long a part that nothing new refers to is kept for the processes that run with it. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

/**
 * The file to run in place of each program, up to date with the sources and the lock.
 *
 * @param root the project's folder
 * @param programs files relative to it
 * @param folder where the bundle is kept, relative to it
 * @param external packages that are loaded from node_modules
 */
export async function bundle(root, programs = PROGRAMS, folder = join('.cache', 'bundle'), external = LEFT_IN_PLACE) {
  const into = join(root, folder);
  const stamp = join(into, 'stamp.json');
  const old = readStamp(stamp);
  const parts = { root, programs, external };
  if (!isCurrent(parts, old)) await write(parts, into, stamp, old);
  return Object.fromEntries(programs.map((program) => [program, entryOf(into, program)]));
}

/** What the bundle was made of and consists of. A machine that lost its power may have left a stamp that says nothing. */
function readStamp(stamp) {
  try {
    return JSON.parse(readFileSync(stamp, 'utf8'));
  } catch {
    return { files: {} };
  }
}

function isCurrent(parts, { sources, digest, files }) {
  if (digest === undefined) return false;
  const contents = sources.map((source) => [source, contentOf(parts.root, source)]);
  return digest === digestOf(parts, contents) && Object.entries(files).every(isWhole);
}

function isWhole([file, sha256]) {
  return existsSync(file) && sha256Of(readFileSync(file)) === sha256;
}

function sha256Of(contents) {
  return createHash('sha256').update(contents).digest('hex');
}

function contentOf(root, source) {
  const file = join(root, source);
  return existsSync(file) ? readFileSync(file, 'utf8') : 'absent';
}

function digestOf(parts, contents) {
  const hash = createHash('sha256').update(JSON.stringify(parts));
  for (const [source, content] of contents) hash.update(`${source}\0${content}\0`);
  return hash.digest('hex');
}

async function write(parts, into, stamp, old) {
  const { root, programs, external } = parts;
  // What is built is what was read: a source may change meanwhile.
  const read = new Map(['package-lock.json', 'scripts/bundle.mjs'].map((name) => [name, contentOf(root, name)]));
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: programs,
    outbase: '.',
    outdir: into,
    write: false,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: 'external',
    sourcesContent: false,
    external,
    banner: { js: REQUIRE },
    logLevel: 'silent',
    plugins: [inPlace(root, read)],
  });
  const written = outputFiles.filter(
    ({ path, text }) => !path.endsWith('.map') || JSON.parse(text).sources.some(isOurs),
  );
  const entries = programs.map((program) => entryOf(into, program));
  // A program comes after the parts that it imports: somebody else may start it at this moment.
  written.sort((a, b) => entries.includes(a.path) - entries.includes(b.path));
  for (const { path, contents } of written) writeWhole(path, contents);
  const files = Object.fromEntries(written.map(({ path, contents }) => [path, sha256Of(contents)]));
  writeWhole(stamp, JSON.stringify({ digest: digestOf(parts, read), sources: [...read.keys()], files }));
  sweep(into, Object.keys(old.files), new Set([stamp, ...Object.keys(files)]));
}

function isOurs(source) {
  return !source.includes('node_modules');
}

function entryOf(into, program) {
  return join(into, program.replace(/\.ts$/, '.js'));
}

/** A source knows its own folder, from which it reads what lies beside it, such as Lua. Notes what it reads. */
function inPlace(root, read) {
  return {
    name: 'in-place',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const source = relative(root, path);
        if (!isOurs(source)) return undefined;
        const content = readFileSync(path, 'utf8');
        read.set(source, content);
        return { loader: 'ts', contents: content.replaceAll('import.meta.dirname', JSON.stringify(dirname(path))) };
      });
    },
  };
}

/** Whoever reads the file finds the old content or the new. */
function writeWhole(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  const part = `${path}.${randomUUID()}.part`;
  writeFileSync(part, contents);
  renameSync(part, path);
}

/** What was replaced is kept from now on, for as long as a process may still run with it. */
function sweep(into, replaced, current) {
  const now = Date.now();
  for (const file of replaced) if (existsSync(file)) utimesSync(file, now / 1000, now / 1000);
  for (const name of readdirSync(into, { recursive: true })) {
    const file = join(into, name);
    const status = statSync(file, { throwIfNoEntry: false });
    if (status?.isFile() && !current.has(file) && now - status.mtimeMs > KEPT_MS) rmSync(file, { force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) bundle(dirname(dirname(process.argv[1])));
