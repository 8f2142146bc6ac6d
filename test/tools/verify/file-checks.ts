import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { type Checked, checked, notRun } from './check.ts';
import type { ToolName, Tools } from './tool.ts';

const run = promisify(execFile);
const OPS = join(PROJECT_ROOT, 'ops');

/** The repository's own files, unchanged, each given to the program that reads it in production. */
const FILES: readonly { name: string; tool: ToolName; args: readonly string[]; says: RegExp }[] = [
  {
    name: 'promtool takes the configuration of Prometheus, with the rules',
    tool: 'promtool',
    args: ['check', 'config', join(OPS, 'prometheus.yml')],
    says: /(\d+) rules found/,
  },
  {
    name: 'promtool plays the known days, and each rule says what it must',
    tool: 'promtool',
    args: ['test', 'rules', join(OPS, 'alerts.test.yml')],
    says: /SUCCESS/,
  },
  {
    name: 'amtool takes the configuration of Alertmanager',
    tool: 'amtool',
    args: ['check-config', join(OPS, 'alertmanager.yml')],
    says: /SUCCESS/,
  },
  {
    name: 'the collector takes its configuration',
    tool: 'otelcol',
    args: ['validate', `--config=${join(PROJECT_ROOT, 'otel-collector.yaml')}`],
    says: /^/,
  },
];

/** Checks the files. Never rejects. */
export function checkFiles(tools: Tools): Promise<Checked[]> {
  return Promise.all(
    FILES.map(({ name, tool, args, says }) => {
      const file = tools[tool];
      if (file === undefined) return notRun(name, `${tool} was not found`);
      return checked(name, async () => {
        const { stdout, stderr } = await run(file, [...args]);
        const said = says.exec(`${stdout}${stderr}`)?.[0];
        if (said === undefined) throw new Error(`${stdout}${stderr}`);
        return said || 'no complaint';
      });
    }),
  );
}
