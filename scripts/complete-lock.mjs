/**
 * Completes package-lock.json after `npm install`.
 *
 * npm drops an optional platform package from the lock file when the registry cannot serve it, and `npm ci`
 * then refuses its own lock ("Missing: … from lock file"). This adds the dropped entries back, with the platform
 * that their names state, so that a clean install works everywhere. Idempotent.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'x64'];

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const wanted = Object.values(lock.packages).flatMap((entry) => Object.entries(entry.optionalDependencies ?? {}));
const missing = wanted.filter(([name]) => !lock.packages[`node_modules/${name}`]);

for (const [name, version] of missing) {
  const words = name.split(/[/-]/);
  const os = SYSTEMS.filter((system) => words.includes(system));
  const cpu = PROCESSORS.filter((processor) => words.includes(processor));
  lock.packages[`node_modules/${name}`] = {
    version: version.replace(/^[^\d]*/, ''),
    optional: true,
    ...(cpu.length > 0 && { cpu }),
    ...(os.length > 0 && { os }),
  };
}

if (missing.length > 0) {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`package-lock.json: ${missing.length} optional platform packages added back`);
}
