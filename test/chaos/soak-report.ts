import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import type { Census } from './census.ts';
import { headLine, resultLine, violationLine } from './report.ts';
import { HEAP_MB, SOAK, type Soaked } from './soak.ts';
import { BOUNDS, bytesPerMessage, isKept } from './soak-verdict.ts';

const FILE = join(PROJECT_ROOT, '.cache', 'chaos-soak.md');
const ROWS_MAX = 40;
const KB = 1_000;

/** Keeps what a soak came to, for people; answers the file. */
export async function writeSoak(soaked: Soaked): Promise<string> {
  await mkdir(join(FILE, '..'), { recursive: true });
  await writeFile(FILE, soakReport(soaked));
  return FILE;
}

/** The report as Markdown. Pure. */
export function soakReport(soaked: Soaked): string {
  const { result, troubles, grown, samples, censuses } = soaked;
  const violations = result.violations.map((each) => `- ${violationLine(each)}`);
  return [
    '# Soak',
    '',
    `${SOAK.about}; written by \`npm run chaos -- --soak --seed ${result.seed}\`.`,
    '',
    '```',
    headLine(),
    resultLine(result),
    '```',
    '',
    `Faults: ${[...troubles].map(([name, times]) => `${name} ${times}`).join(', ')}.`,
    '',
    violations.length === 0 ? 'No invariant was violated.' : `Violations:\n\n${violations.join('\n')}`,
    '',
    grown.length === 0 ? 'Nothing grew that should not.' : `Grown:\n\n${grown.map((what) => `- ${what}`).join('\n')}`,
    '',
    ...redisPart(censuses),
    ...gatewayPart(samples),
  ].join('\n');
}

/** What Redis holds, by family: beginning, middle and end. */
function redisPart(censuses: readonly Census[]): string[] {
  const [first, , middle] = censuses;
  const last = censuses.at(-1);
  if (first === undefined || middle === undefined || last === undefined) return [];
  const rows = last.sizes.map(({ family, withoutTtl }) => {
    const sizes = [first, middle, last].map(({ sizes: all }) => all.find((size) => size.family.name === family.name));
    const keys = sizes.map((size) => size?.keys ?? 0);
    const bytes = sizes.map((size) => ((size?.bytes ?? 0) / KB).toFixed(1));
    const each = isKept(family) ? bytesPerMessage(first, last, (size) => size.family.name === family.name) : '';
    return `| ${[family.name, family.purpose, ...keys, ...bytes, withoutTtl, each].join(' | ')} |`;
  });
  return [
    '## Redis',
    '',
    `Before the first message, in the middle (${middle.settled} settled), and when all was settled (${last.settled}). What is under way must be as it was. What is kept came to ${bytesPerMessage(first, last)} bytes a message (${bytesPerMessage(first, middle)} in the first half, ${bytesPerMessage(middle, last)} in the second; the bound is ${BOUNDS.bytesPerMessage}): most of it is conversations, of which a chat keeps the one that it uses, and turns, which go after an hour.`,
    '',
    '| family | for | keys: before | middle | end | KB: before | middle | end | without TTL | bytes a message |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

function gatewayPart(samples: Soaked['samples']): string[] {
  const every = Math.max(1, Math.ceil(samples.length / ROWS_MAX));
  const rows = samples.filter((_, index) => index % every === 0 || index === samples.length - 1);
  return [
    '## The gateway',
    '',
    `It is the one that no fault killed or froze, with a heap of at most ${HEAP_MB} MB; handles are its open files and sockets. \`waiting\` is with Telegram, \`unanswered\` on the stream. The last third of the run may have ${percent(BOUNDS.shareOfMemory)} more memory, ${BOUNDS.windowsMb} MB for the windows that it holds, and ${percent(BOUNDS.shareOfHandles)} more handles than the first, after ${BOUNDS.warmUpSeconds} seconds to warm up.`,
    '',
    '| seconds | asked | waiting | unanswered | settled | gateway MB | handles | Redis MB | Redis keys |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows.map(
      (row) =>
        `| ${row.seconds} | ${row.asked} | ${row.waiting} | ${row.unanswered} | ${row.settled} | ${row.gatewayMb} | ${row.gatewayHandles} | ${row.redisMb} | ${row.redisKeys} |`,
    ),
    '',
  ];
}

const percent = (share: number): string => `${Math.round((share - 1) * 100)} %`;
