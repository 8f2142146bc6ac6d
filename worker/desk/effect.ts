import type { Attribution, OperatorAction } from '../../shared/state/process/actions.ts';
import type { NotedAct } from '../alerts/act.ts';
import type { Incident } from '../alerts/incident.ts';
import type { Model } from '../model/port.ts';
import type { DeskPorts } from './desk.ts';

/** An act that was noted, with what it is about. */
export interface Errand {
  incident: Incident;
  noted: NotedAct;
  attribution: Attribution;
  /** Within the limits of what all chats may spend. */
  model: Pick<Model, 'send'>;
  signal: AbortSignal;
}

/** What is asked before something is done that cannot be taken back, and what then stands on the button. */
export interface Question {
  text: string;
  yes: string;
}

/** How an act is done. */
export type Effect = {
  /** Absent, or without a question: it is done at once. */
  asks?: (incident: Incident) => Question | undefined;
} & (
  | {
      /** The note itself is the act, with this result. */
      result: string;
      /** How the trail calls it. */
      trail: OperatorAction;
    }
  | {
      /** Fixes what is to be done, before it is noted: a repeat after a crash does the rest of the same. */
      fixes?: (ports: DeskPorts, incident: Incident, nowMs: number) => Promise<Pick<NotedAct, 'of'>>;
      /** Contract: recorded in the trail before it is done; may be repeated; rejects when Redis cannot be reached. */
      does: (ports: DeskPorts, errand: Errand) => Promise<string>;
    }
);
