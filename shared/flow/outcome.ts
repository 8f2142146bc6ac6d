/** How a message ended. Every accepted message gets exactly one of these, and the user or the operator is notified. */
export type Outcome = 'answered' | 'command' | 'merged' | 'refused' | 'cancelled' | 'failed' | 'undeliverable';
