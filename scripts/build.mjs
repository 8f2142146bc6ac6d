/**
 * `npm run build`: makes of the gateway's programs a package, in `dist`. About 800 modules become a few files, which Node loads
 * in half the time and with 20 MB less memory (docs/adr/0016). The image runs it, `npm pack ./dist` packs it for an
 * installation without a clone. From a clone the sources run. An argument names another folder of the project.
 */
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const root = dirname(import.meta.dirname);
const outdir = resolve(root, process.argv[2] ?? 'dist');

/**
 * What many installations never use is loaded from node_modules when it is first needed: buckets, the console, MCP,
 * exporters, the limiter of several processes. So is what reads files of people, with code of the machine. And Telegraf,
 * which uses what Node deprecates: Node says so of every file that is not in node_modules.
 */
const external = [
  '@aws-sdk/*',
  'hono',
  '@hono/*',
  '@modelcontextprotocol/*',
  '@opentelemetry/sdk-*',
  '@opentelemetry/exporter-*',
  'rate-limiter-flexible',
  'sharp',
  'unpdf',
  'telegraf',
];

/**
 * All in one folder: what a program finds beside itself is the same for each. The decoder is a process and `frozen` a module
 * of a thread: others name their files.
 */
const entryPoints = {
  spillway: 'spillway.ts',
  producer: 'producer/main.ts',
  worker: 'worker/main.ts',
  cli: 'worker/cli/main.ts',
  setup: 'setup/main.ts',
  decoder: 'worker/media/decoder.ts',
  frozen: 'shared/app/frozen.ts',
};

/** A source knows its own folder, from which it reads what lies beside it, such as Lua; and programs, by the names of their files. */
const inPlace = {
  name: 'in-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const own = `(import.meta.dirname + ${JSON.stringify(`/${relative(root, dirname(path))}`)})`;
      const placed = readFileSync(path, 'utf8').replace(/import\.meta\.dirname(?:, '(\w+)\.ts')?/g, (_, program) =>
        program === undefined ? own : `import.meta.dirname, '${program}.js'`,
      );
      return { loader: 'ts', contents: inOwnWords(placed) };
    });
  },
};

/** What people are told to type: of a package there is the command alone, and no npm script. */
function inOwnWords(text) {
  return text
    .replace(/npm run cli --/g, 'spillway')
    .replace(/npm (?:run )?(?=(?:start|setup|producer|worker)\b)/g, 'spillway ');
}

rmSync(outdir, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints,
  outdir,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
  external,
  // CommonJS packages ask for Node's own modules by `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  logLevel: 'warning',
  plugins: [inPlace],
});
copyWhatIsRead();
const about = manifest();
writeJson('npm-shrinkwrap.json', lockOf(about));
// The last: what was built in part is not packed.
writeJson('package.json', about);

function copyWhatIsRead() {
  const read = ['producer', 'shared', 'worker'].flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => ['.lua', '.json', '.css'].includes(extname(name)))
      .map((name) => join(room, name)),
  );
  for (const file of [...read, 'LICENSE', 'README.md']) cpSync(join(root, file), join(outdir, file));
  mkdirSync(join(outdir, 'docs'));
  for (const file of ['.env.example', join('docs', 'runbook.md')])
    writeFileSync(join(outdir, file), inOwnWords(readFileSync(join(root, file), 'utf8')));
  cpSync(join(import.meta.dirname, 'command.mjs'), join(outdir, 'command.mjs'));
  chmodSync(join(outdir, 'command.mjs'), 0o755);
}

/** The package depends on what the bundle leaves out, and on nothing else. */
function manifest() {
  const { scripts: _, devDependencies: __, optionalDependencies: ___, ...own } = readJson('package.json');
  const left = Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ path, external }) => external && !path.startsWith('node:'))
    .map(({ path }) => /^(?:@[^/]+\/)?[^/]+/.exec(path)[0]);
  const kept = Object.entries(own.dependencies).filter(([dependency]) => left.includes(dependency));
  return { ...own, bin: { [own.name]: 'command.mjs' }, dependencies: Object.fromEntries(kept) };
}

/** The part of the project's lock that the package needs: an installation has the versions that the tests had. */
function lockOf({ name, version, dependencies }) {
  const { lockfileVersion, packages } = readJson('package-lock.json');
  const kept = { '': { name, version, dependencies } };
  const keep = (place) => {
    for (const needed of neededBy(kept[place])) {
      const found = placeOf(needed, place, packages);
      if (found === undefined || found in kept) continue;
      kept[found] = packages[found];
      keep(found);
    }
  };
  keep('');
  return { name, version, lockfileVersion, requires: true, packages: kept };
}

function neededBy({ dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** Where Node finds a package from the place of another one. */
function placeOf(name, from, packages) {
  const place = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (place in packages || from === '') return packages[place] && place;
  return placeOf(name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), packages);
}

function readJson(name) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

function writeJson(name, value) {
  writeFileSync(join(outdir, name), `${JSON.stringify(value, undefined, 2)}\n`);
}
