import { expect, test } from '@jest/globals';
import { type Check, runCheck } from '../peers/check.ts';
import type { Ground } from '../peers/ground.ts';
import { peersReport } from '../peers/report.ts';

const GROUND = { play: () => {}, proxy: undefined, mcp: {} } as unknown as Ground;
const check = (run: Check['run'], needs: Check['needs'] = []): Check => ({ name: 'a check', needs, run });

test('a check is ok, DIFFERS when it throws, or is not run when a part that it needs is missing', async () => {
  const holds = await runCheck(
    check(async () => 'so it is', ['MCP servers']),
    GROUND,
  );
  const differs = await runCheck(
    check(() => Promise.reject(new Error('expected\n1'))),
    GROUND,
  );
  const lacks = await runCheck(
    check(async () => 'never', ['LiteLLM']),
    GROUND,
  );
  expect([holds, differs, lacks].map(({ verdict, seen }) => [verdict, seen])).toEqual([
    ['ok', 'so it is'],
    ['DIFFERS', 'expected 1'],
    ['not run', 'LiteLLM could not be brought'],
  ]);
});

test('the report counts the verdicts and contains no path of the machine', async () => {
  const failed = await runCheck(
    check(() => Promise.reject(new Error(`no file ${['', 'tmp', 'spillway-1', 'x.txt'].join('/')} | or so`))),
    GROUND,
  );
  const report = peersReport({ checked: [failed], missing: ['LiteLLM is away.'], startedMs: 0, endedMs: 90_000 });
  expect(report).toMatch(/\*\*0 of 1 checks hold, 1 differ, 0 were not run\.\*\* LiteLLM is away\./);
  expect(report).toMatch(/\| DIFFERS \| a check \| no file … \/ or so \|/);
  expect(report).not.toMatch(/tmp/);
});
