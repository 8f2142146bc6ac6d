import type { ShownMessage } from './chats.ts';

/** Something that happened in a chat, as its people saw it. Messages are as they were then. */
export type ChatEvent = { readonly at: number } & (
  | {
      readonly kind: 'said';
      /** As an update shows it. */
      readonly message: Record<string, unknown>;
      /** False for what the bot does not get, because of privacy mode. */
      readonly isHeard: boolean;
    }
  | { readonly kind: 'sent' | 'edited'; readonly message: ShownMessage }
  | { readonly kind: 'deleted'; readonly messageId: number }
  | { readonly kind: 'pressed'; readonly label: string }
);
