/** How a message ended. Every accepted message gets exactly one of these, and somebody is told. */
export type Outcome = 'answered' | 'command' | 'merged' | 'refused' | 'cancelled' | 'failed' | 'undeliverable';
