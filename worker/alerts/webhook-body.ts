import type { AlertFormat } from '../../shared/base/setting.ts';
import { clip } from '../../shared/base/text.ts';
import type { Severity } from '../../shared/flow/alert.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { withLinks } from './channel.ts';
import { causeOf, digest, type Handover } from './handover.ts';

/** What takes alerts, and as whose. */
export interface Receiver {
  format: AlertFormat;
  /** A secret; it is in the body where the format has a place for it. */
  key: string | undefined;
  installation: string;
}

/** What is posted for it, in order. A tool with keys shows nothing that ended before it began: it is told of both. Pure. */
export function bodiesOf(place: Receiver, handover: Handover): object[] {
  const { format } = place;
  // Slack's incoming webhooks refuse unknown fields.
  if (format === 'slack') {
    const text = withLinks(handover.words, { links: handover.isNew ? handover.links : [] });
    return [{ text: text.replaceAll(/[&<>]/g, (mark) => SLACK_WORDS[mark] ?? mark) }];
  }
  const open = { ...handover, isOver: false };
  const all = handover.isNew && handover.isOver ? [open, handover] : [handover];
  return format === 'pagerduty'
    ? all.flatMap((each) => pagerDutyEvents(place, each))
    : all.map((each) => alertmanagerMessage(place, each));
}

/** Between < and > Slack reads a link, or whom to call. */
const SLACK_WORDS: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const GRAVITY: Readonly<Record<Severity, string>> = { page: 'critical', today: 'warning', note: 'info' };
const SUMMARY_CHARS_MAX = 1_024;

/**
 * Events of PagerDuty's Events API v2: a further trigger with a known key is added to the incident that it opened.
 */
function pagerDutyEvents({ key, installation }: Receiver, handover: Handover): object[] {
  const { incident, severity, isOver, what, text, links, openedMs, messages, chats } = handover;
  const event = { routing_key: key, dedup_key: handover.key };
  if (isOver) return [{ ...event, event_action: 'resolve' }];
  const trigger = {
    ...{ ...event, event_action: 'trigger', client: 'Spillway' },
    payload: {
      summary: clip(`${installation}: ${what}`, SUMMARY_CHARS_MAX),
      ...{ severity: GRAVITY[severity], source: installation, timestamp: isoTime(openedMs) },
      ...{ component: 'spillway', group: installation, class: causeOf(incident) },
      custom_details: { incident, messages, chats, text },
    },
    links: links.map((link) => ({ href: link.url, text: link.text })),
  };
  return [trigger];
}

/** What Go's zero time reads as: an alert that has not ended. */
const NO_END = '0001-01-01T00:00:00Z';

/** What Alertmanager posts to a webhook receiver, version 4: here a group is one alert. */
function alertmanagerMessage({ installation }: Receiver, handover: Handover): object {
  const { incident, key, severity, isOver, what, text, openedMs, endedMs } = handover;
  const link = (of: keyof (typeof ALERT_WORDS)['links']): string =>
    handover.links.find(({ text }) => text === ALERT_WORDS.links[of])?.url ?? '';
  const status = isOver ? 'resolved' : 'firing';
  const groupLabels = { alertname: causeOf(incident), incident, installation };
  const labels = { ...groupLabels, severity: GRAVITY[severity] };
  const runbook = link('runbook');
  const annotations = { summary: what, description: text, ...(runbook !== '' && { runbook_url: runbook }) };
  const alert = {
    ...{ status, labels, annotations, startsAt: isoTime(openedMs) },
    endsAt: isOver ? isoTime(endedMs ?? openedMs) : NO_END,
    ...{ generatorURL: link('trace'), fingerprint: digest(key).slice(0, 16) },
  };
  return {
    ...{ version: '4', groupKey: key, truncatedAlerts: 0, status, receiver: 'spillway' },
    ...{ groupLabels, commonLabels: labels, commonAnnotations: annotations, externalURL: runbook, alerts: [alert] },
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
