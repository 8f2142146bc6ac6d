import type { Feature } from './feature.ts';
import { againFeature } from './features/again/feature.ts';
import { chatsFeature } from './features/chats/feature.ts';
import { consoleFeature } from './features/console/feature.ts';
import { deskFeature } from './features/desk/feature.ts';
import { filesFeature } from './features/files/feature.ts';
import { guestsFeature } from './features/guests/feature.ts';
import { mcpFeature } from './features/mcp/feature.ts';
import { memoryFeature } from './features/memory/feature.ts';
import { pairingFeature } from './features/pairing/feature.ts';
import { recallFeature } from './features/recall/feature.ts';
import { remindersFeature } from './features/reminders/feature.ts';
import { undoFeature } from './features/undo/feature.ts';
import { voiceFeature } from './features/voice/feature.ts';

/** The features, in the order of their hook calls and of their tools. */
export const FEATURES: readonly Feature[] = [
  recallFeature,
  filesFeature,
  voiceFeature,
  remindersFeature,
  memoryFeature,
  mcpFeature,
  againFeature,
  undoFeature,
  chatsFeature,
  guestsFeature,
  pairingFeature,
  deskFeature,
  consoleFeature,
];
