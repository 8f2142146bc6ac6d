import assert from 'node:assert/strict';
import { type Checked, checked, notRun } from './check.ts';
import type { Hook } from './hook.ts';
import type { Tools } from './tool.ts';

interface Notice {
  status: string;
  groupLabels: { alertname?: string };
  alerts: { status: string; annotations: { runbook_url?: string } }[];
}

const NAME =
  'Alertmanager sends one message for each rule, with the address of its runbook section, and says when it ends';

/** Looks at what Alertmanager sent over the day. Never rejects. */
export async function checkAlertmanager(tools: Tools, hook: Hook): Promise<Checked> {
  if (tools.alertmanager === undefined) return notRun(NAME, 'Alertmanager was not found');
  return checked(NAME, () => {
    const notices = hook.calls.filter(({ path }) => path === '/alertmanager').map(({ body }) => body as Notice);
    const names = new Set(notices.map(({ groupLabels }) => groupLabels.alertname));
    const resolved = notices.filter(({ status }) => status === 'resolved').length;
    assert.ok(notices.length > 0, 'it sent nothing');
    assert.ok(!names.has(undefined), 'a message is about several rules');
    const alerts = notices.flatMap((notice) => notice.alerts);
    assert.ok(alerts.every(({ annotations }) => annotations.runbook_url !== undefined));
    assert.ok(resolved > 0, 'it never said that something has ended');
    return `${notices.length} messages about ${names.size} rules, ${resolved} of them an end`;
  });
}
