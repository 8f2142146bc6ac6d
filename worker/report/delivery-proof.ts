import type { OutcomeRecord } from '../lane/lane.ts';

/** What a ledger proves of the replies that it calls delivered. Each message is counted once. */
export interface DeliveryProof {
  /** Telegram confirmed every part. */
  confirmed: number;
  /** A part was repeated, marked, while Telegram confirmed other messages; of the repeat it said nothing. */
  unsure: number;
  /** Written by a version that kept no proof, or nothing was sent. */
  unknown: number;
  /** Called delivered, although a part was neither confirmed nor repeated: there must be none. */
  unconfirmed: number;
  /** The entries of the first of those. */
  unconfirmedEntries: string[];
}

const ENTRIES_MAX = 10;
const DELIVERED = new Set(['answered', 'command']);

/** A proof of nothing yet. */
export function emptyProof(): DeliveryProof {
  return { confirmed: 0, unsure: 0, unknown: 0, unconfirmed: 0, unconfirmedEntries: [] };
}

/** Adds a line of the ledger. Lines that call nothing delivered are no part of the proof. */
export function addToProof(proof: DeliveryProof, { entry, outcome, delivery }: OutcomeRecord): void {
  if (!DELIVERED.has(outcome)) return;
  if (delivery === undefined) {
    proof.unknown += 1;
    return;
  }
  const { parts, confirmed, unsure } = delivery;
  if (!(parts > 0 && confirmed >= 0 && unsure >= 0 && confirmed + unsure === parts)) {
    proof.unconfirmed += 1;
    if (proof.unconfirmedEntries.length < ENTRIES_MAX) proof.unconfirmedEntries.push(entry);
  } else if (unsure > 0) proof.unsure += 1;
  else proof.confirmed += 1;
}
