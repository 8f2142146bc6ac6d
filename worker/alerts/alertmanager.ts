import type { Service } from '../../shared/base/lifecycle.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { Severity } from '../../shared/flow/alert.ts';
import type { ProcessEnv } from '../shard-env.ts';
import type { WatchdogView } from '../watch/readiness.ts';
import type { Book } from './book.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { severityOf } from './causes.ts';
import { type Incident, incidentOf } from './incident.ts';
import { type AlertMessage, headline, messageOf, type Surroundings, surroundingsOf } from './message.ts';
import type { Trouble } from './redis-trouble.ts';
import { postJson } from './webhook.ts';

/** How long resolved alerts are repeated, so that a lost request leaves no alert open: 15 minutes, as in Prometheus. */
const RESOLVED_REPEAT_MS = 900_000;
const GRAVITY: Readonly<Record<Severity, string>> = { page: 'critical', attention: 'warning', info: 'info' };

/**
 * Starts the service that sends Alertmanager, in every round, the open incidents, the incidents that ended recently (as
 * resolved), and the troubles of this process. Alertmanager expects repeats and deduplicates alerts by their labels, so the
 * service stores nothing, and every process may send.
 */
export function startAlertmanager(env: ProcessEnv, url: string, { book, troubles }: WatchdogView): Service {
  const { log, limits } = env;
  const everyMs = limits.alertmanagerEveryMs;
  const around = surroundingsOf(env.settings);
  const address = `${url.replace(/\/$/, '')}/api/v2/alerts`;
  return runLoop({
    name: 'alertmanager',
    firstAfterMs: everyMs,
    async round(signal) {
      const current = book();
      const incidents = [...current.values()].filter(isCurrent).map((each) => incidentAlert(each, around, current));
      const alerts = [...incidents, ...Object.values(troubles).flatMap((trouble) => troubleAlert(trouble, around))];
      const result = alerts.length === 0 ? undefined : await postJson(address, alerts, signal);
      if (result?.ok === false && !signal.aborted)
        log.error({ why: result.why }, 'Alertmanager did not take the incidents; they are sent again');
      return everyMs;
    },
    retryMs: everyMs,
    onError: (error) => log.error({ err: error }, 'the incidents could not be sent to Alertmanager; it is tried again'),
  });
}

function isCurrent({ isOpen, endedMs = 0 }: Incident): boolean {
  return isOpen || Date.now() - endedMs < RESOLVED_REPEAT_MS;
}

function incidentAlert(incident: Incident, around: Surroundings, book: Book): object {
  const { cause, isOpen, openedMs, endedMs = openedMs } = incident;
  const about = { cause, incident: incidentOf(incident), severity: severityOf(incident), summary: headline(incident) };
  return {
    ...alertOf(about, messageOf(incident, around, book), around),
    startsAt: isoTime(openedMs),
    ...(!isOpen && { endsAt: isoTime(endedMs) }),
  };
}

/**
 * The alert about a trouble of this process; empty until the process has notified the operator of the trouble. Alertmanager
 * itself resolves the alert, `resolve_timeout` (default: 5 minutes) after the last repeat.
 */
function troubleAlert({ current }: Pick<Trouble, 'current'>, around: Surroundings): object[] {
  const trouble = current();
  if (trouble === undefined) return [];
  const { name, text, sinceMs, message } = trouble;
  const about = { cause: name, incident: name, severity: 'page', summary: text } as const;
  return [{ ...alertOf(about, message, around), startsAt: isoTime(sinceMs) }];
}

interface About {
  cause: string;
  incident: string;
  severity: Severity;
  summary: string;
}

/** An alert in Alertmanager's form. Its labels, by which Alertmanager recognises repeats, change only with the severity. */
function alertOf(about: About, { text, links }: AlertMessage, { installation = 'spillway' }: Surroundings): object {
  const { cause, incident, severity, summary } = about;
  const link = (of: 'trace' | 'runbook') => links.find((each) => each.text === ALERT_WORDS.links[of])?.url;
  const [runbook, trace] = [link('runbook'), link('trace')];
  return {
    labels: { alertname: cause, incident, installation, severity: GRAVITY[severity] },
    annotations: { summary, description: text, ...(runbook !== undefined && { runbook_url: runbook }) },
    ...(trace !== undefined && { generatorURL: trace }),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
