import { z } from 'zod';
import { clip } from '../../shared/base/text.ts';
import { type Alert, readAlert } from '../../shared/flow/alert.ts';
import type { Notice } from './book.ts';
import { ruleOf } from './cause.ts';
import { type Condition, type Incident, incidentOf } from './incident.ts';

/** The version of an incident as this process writes it. A later one is none of its business. */
export const INCIDENT_VERSION = 1;

const NAMES_MAX = 5;
const NAME_CHARS_MAX = 60;
const UNREADABLE_CHARS_MAX = 300;
/** What a date can hold. */
const TIME = z.number().min(0).max(8.64e15);
const COUNT = z.number().min(0);

/** What this version needs of an incident; whatever else stands in it is kept. */
const INCIDENT = z.looseObject({
  v: z.literal(INCIDENT_VERSION).optional(),
  cause: z.string().refine((cause) => ruleOf(cause) !== undefined),
  key: z.string(),
  isOpen: z.boolean(),
  openedMs: TIME,
  lastMs: TIME,
  endedMs: TIME.optional(),
  reopenings: COUNT,
  first: z.string(),
  latest: z.string(),
  level: z.string(),
  messages: COUNT,
  chats: COUNT,
  chatNames: z.array(z.string()),
  traceId: z.string().optional(),
  unnamed: z.array(z.string()),
  unnamedMore: COUNT.default(0),
  notified: z
    .looseObject({ atMs: TIME, messages: COUNT, chats: COUNT, level: z.string(), reminders: COUNT })
    .optional(),
});

const NOTICE = z.looseObject({
  incident: z.string(),
  kind: z.enum(['opened', 'reopened', 'spread', 'changed', 'lasts', 'resolved']).catch('opened'),
  text: z.string(),
});

/** Reads an incident of the book; `undefined` when this version does not know its cause, its version or its shape. */
export function readIncident(id: string, json: string): Incident | undefined {
  const incident = INCIDENT.safeParse(parsed(json)).data as Incident | undefined;
  return incident && incidentOf(incident) === id ? incident : undefined;
}

/** What can be shown of an incident that this version cannot read. */
const SHOWN = z.object({
  cause: z.string().catch(''),
  isOpen: z.boolean().catch(true),
  openedMs: TIME.catch(0),
  lastMs: TIME.catch(0),
  latest: z.string().catch(''),
});

/** What can be read of an incident that this version does not know; empty or 0 is what cannot. */
export function glimpse(json: string): z.infer<typeof SHOWN> {
  return SHOWN.parse(Object(parsed(json)));
}

/** The alert of an entry, whoever wrote it: what this version does not know is told of in its own words. */
export function alertOf(id: string, json: string | undefined): Alert {
  const alert = readAlert(json);
  if (alert === undefined) return { cause: 'other-version', key: 'alert', text: unreadableText(id, json) };
  return ruleOf(alert.cause) ? alert : { ...alert, cause: 'other-version', key: incidentOf(alert) };
}

/** A notice from its queue; one that cannot be read says so, and makes way for those behind it. */
export function noticeOf(id: string, json: string | undefined): Notice {
  const { data } = NOTICE.safeParse(parsed(json));
  return data ?? { incident: 'other-version', kind: 'opened', text: unreadableText(id, json) };
}

function unreadableText(id: string, json = ''): string {
  return `An alert is not readable (${id}): ${clip(json, UNREADABLE_CHARS_MAX)}`;
}

/** Incidents that this version does not know, as long as they stand in the book. */
export function unreadCondition(names: readonly string[]): Condition {
  const named = [...names]
    .sort()
    .slice(0, NAMES_MAX)
    .map((name) => clip(name, NAME_CHARS_MAX));
  const more = names.length > named.length ? `, and ${names.length - named.length} more` : '';
  return {
    cause: 'other-version',
    key: 'incidents',
    level: String(names.length),
    text: `The book of incidents holds what this version does not know: ${named.join(', ')}${more}. It is kept as it is, and nothing is done about it.`,
  };
}

function parsed(json: string | undefined): unknown {
  try {
    return JSON.parse(json ?? '');
  } catch {
    return undefined;
  }
}
